/**
 * `POST /oauth/dpc/token`: the client credentials grant (RFC 6749 §4.4) with the errors of §5.2, the
 * published keys (RFC 7517) and the metadata (RFC 8414). These paths are outside `/dpc` and respond in
 * OAuth's format, not with ProblemDetail.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { decode } from '../../kernel/http/content-encoding.ts';
import { cutLateBody } from '../../kernel/http/late-body.ts';
import { problem } from '../../kernel/http/problems.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import { jwksSeconds, tokenLifetimeSeconds } from '../../kernel/security/signing-keys.ts';
import { tokenScope } from '../../kernel/security/tokens.ts';
import { type ClientAuthentication, ClientRefusal, unknownClientText } from './client-authentication.ts';

const tokenPath = '/oauth/dpc/token';
const keysPath = '/.well-known/jwks.json';
/** Many OAuth clients request only the second path. */
const metadataPaths = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
const formType = 'application/x-www-form-urlencoded';
const longestMember = 1_024;
/** A form has a few hundred bytes, and its sender is not authenticated yet. */
const formMilliseconds = 10_000;
const formLimit = {
  bytes: 16_384,
  exceeded: () => problem('body-too-large', { limit: 'the form may have at most 16384 bytes' }),
};

type OAuthError = 'invalid_request' | 'unsupported_grant_type';

class Refusal extends Error {
  readonly error: OAuthError;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(error: OAuthError, description: string, status = 400, headers: Record<string, string> = {}) {
    super(description);
    this.error = error;
    this.status = status;
    this.headers = headers;
  }
}

export interface TokenServices extends Services {
  clients: ClientAuthentication;
}

export function tokenRoutes({ app }: Endpoints, services: TokenServices): void {
  app.addHook('onClose', () => services.clients.close());
  app.addContentTypeParser<Buffer>(
    formType,
    { parseAs: 'buffer', bodyLimit: formLimit.bytes },
    (request, bytes, done) =>
      decode(bytes, request.headers, formLimit, (failure, content) =>
        done(failure, content?.toString('utf8')),
      ),
  );

  // Reject other content types before reading the body: the caller is not authenticated yet.
  function requireForm(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
    if (type === formType) done();
    else
      sendBody(reply, 400, { error: 'invalid_request', error_description: `The body must be ${formType}.` });
  }

  const cut = cutLateBody(formMilliseconds, (reply) => {
    const description = `The form did not arrive within ${formMilliseconds / 1_000} s.`;
    sendBody(reply, 408, { error: 'invalid_request', error_description: description });
  });

  app.post(tokenPath, { onRequest: [requireForm, cut] }, async (request, reply) => {
    try {
      const { clientId, secret } = readCredentials(request);
      // The body contains the secret, so do not keep it on the request.
      request.body = undefined;
      const attempt = { address: request.ip, requestId: request.id };
      const client = await services.clients.authenticate(attempt, clientId, secret);
      const accessToken = await services.tokens.issue({ ...client, clientId }, client.surface);
      const body = {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: tokenLifetimeSeconds,
        scope: tokenScope,
      };
      return sendBody(reply, 200, body);
    } catch (failure) {
      if (failure instanceof ClientRefusal) {
        reply.headers(failure.headers);
        return sendBody(reply, failure.status, {
          error: 'invalid_client',
          error_description: failure.message,
        });
      }
      if (!(failure instanceof Refusal)) throw failure;
      reply.headers(failure.headers);
      return sendBody(reply, failure.status, { error: failure.error, error_description: failure.message });
    }
  });

  app.get(keysPath, (_request, reply) => {
    reply.header('cache-control', `public, max-age=${jwksSeconds}`);
    return services.tokens.listPublicKeys();
  });

  for (const path of metadataPaths) {
    app.get(path, () => ({
      issuer: services.tokens.issuer,
      token_endpoint: services.tokens.issuer + tokenPath,
      jwks_uri: services.tokens.issuer + keysPath,
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
      scopes_supported: [tokenScope],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    }));
  }
}

/** RFC 6749 §5.1: token responses must not be cached. */
function sendBody(reply: FastifyReply, status: number, body: object) {
  return reply.code(status).headers({ 'cache-control': 'no-store', pragma: 'no-cache' }).send(body);
}

function readCredentials(request: FastifyRequest): { clientId: string; secret: Secret } {
  if (typeof request.body !== 'string') throw new Refusal('invalid_request', `The body must be ${formType}.`);
  const form = new URLSearchParams(request.body);
  for (const name of ['grant_type', 'client_id', 'client_secret']) {
    if (form.getAll(name).length > 1)
      throw new Refusal('invalid_request', `${name} appears more than once; send it once.`);
  }
  const grantType = form.get('grant_type');
  if (grantType === null)
    throw new Refusal('invalid_request', 'grant_type is missing; send grant_type=client_credentials.');
  if (grantType !== 'client_credentials') {
    throw new Refusal('unsupported_grant_type', 'This grant_type is not supported; use client_credentials.');
  }
  const basic = parseBasicCredentials(request.headers.authorization);
  const clientId = basic?.clientId ?? form.get('client_id');
  const secret = basic?.secret ?? form.get('client_secret');
  if (basic !== undefined && form.has('client_secret')) {
    throw new Refusal(
      'invalid_request',
      'The request has client credentials in the Authorization header and in the body; send one of them.',
    );
  }
  if (!clientId || !secret)
    throw new ClientRefusal('client_id or client_secret is missing; send both in the body or by HTTP Basic.');
  if (clientId.length > longestMember || secret.length > longestMember)
    throw new ClientRefusal(unknownClientText);
  return { clientId, secret: new Secret(secret) };
}

/** RFC 6749 §2.3.1: client id and secret are form-encoded before they are joined. */
function parseBasicCredentials(header: string | undefined): { clientId: string; secret: string } | undefined {
  const match = /^Basic +([\w+/=-]+) *$/i.exec(header ?? '');
  if (match?.[1] === undefined) return undefined;
  const [clientId = '', ...rest] = Buffer.from(match[1], 'base64').toString('utf8').split(':');
  try {
    const decodeHalf = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
    return { clientId: decodeHalf(clientId), secret: decodeHalf(rest.join(':')) };
  } catch {
    throw new ClientRefusal(
      'The HTTP Basic credentials are not form-encoded; percent-encode client_id and client_secret.',
    );
  }
}
