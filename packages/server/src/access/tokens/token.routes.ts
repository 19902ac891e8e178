/**
 * The endpoints of OAuth: tokens (RFC 6749 with the errors of §5.2), introspection (RFC 7662), revocation (RFC 7009),
 * the published keys (RFC 7517) and the metadata (RFC 8414). These paths are outside `/dpc` and respond in
 * OAuth's format, not with ProblemDetail.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { decode } from '../../kernel/http/content-encoding.ts';
import { cutLateBody } from '../../kernel/http/late-body.ts';
import { problem } from '../../kernel/http/problems.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import { jwksSeconds, tokenLifetimeSeconds } from '../../kernel/security/signing-keys.ts';
import { tokenScope } from '../../kernel/security/tokens.ts';
import {
  authorizePath,
  deviceGrant,
  devicePath,
  grantToProgram,
  OAuthRefusal,
  type ProgramServices,
  readUserAgent,
  requireParameter,
} from '../programs/index.ts';
import { type ClientAuthentication, ClientRefusal, unknownClientText } from './client-authentication.ts';
import { introspect, revoke } from './introspection.ts';

const tokenPath = '/oauth/dpc/token';
const keysPath = '/.well-known/jwks.json';
/** Many OAuth clients request only the second path. */
const metadataPaths = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
const introspectionPath = '/oauth/dpc/introspect';
const revocationPath = '/oauth/dpc/revoke';
const clientGrant = 'client_credentials';
const programGrants = ['authorization_code', 'refresh_token', deviceGrant];
const grantTypes = [clientGrant, ...programGrants];
const clientMethods = ['client_secret_basic', 'client_secret_post'];
const formType = 'application/x-www-form-urlencoded';
const longestMember = 1_024;
/** A form has a few hundred bytes, and its sender is not authenticated yet. */
const formMilliseconds = 10_000;
const formLimit = {
  bytes: 16_384,
  exceeded: () => problem('body-too-large', { limit: 'the form may have at most 16384 bytes' }),
};

export interface TokenServices extends ProgramServices {
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

  /** What a caller without valid credentials may send to an endpoint of OAuth. */
  const serve = (path: string, answer: (request: FastifyRequest, form: URLSearchParams) => Promise<object>) =>
    app.post(path, { onRequest: [requireForm, cut] }, async (request, reply) => {
      try {
        const form = readForm(request);
        // The body contains secrets, so do not keep it on the request.
        request.body = undefined;
        return sendBody(reply, 200, await answer(request, form));
      } catch (failure) {
        if (!(failure instanceof ClientRefusal || failure instanceof OAuthRefusal)) throw failure;
        reply.headers(failure.headers);
        const error = failure instanceof OAuthRefusal ? failure.error : 'invalid_client';
        return sendBody(reply, failure.status, { error, error_description: failure.message });
      }
    });

  /** Throws ClientRefusal and OAuthRefusal. */
  async function authenticate(request: FastifyRequest, form: URLSearchParams) {
    const { clientId, secret } = readCredentials(request, form);
    const attempt = { address: request.ip, requestId: request.id };
    return { clientId, ...(await services.clients.authenticate(attempt, clientId, secret)) };
  }

  serve(tokenPath, async (request, form) => {
    const grantType = form.get('grant_type');
    if (grantType === null)
      throw new OAuthRefusal('invalid_request', 'grant_type is missing; send grant_type=client_credentials.');
    if (programGrants.includes(grantType))
      return grantToProgram(services, {
        form,
        requestId: request.id,
        address: request.ip.slice(0, 64),
        userAgent: readUserAgent(request),
      });
    if (grantType !== clientGrant)
      throw new OAuthRefusal(
        'unsupported_grant_type',
        `This grant_type is not supported; use ${grantTypes.join(', ')}.`,
      );
    const client = await authenticate(request, form);
    return {
      access_token: await services.tokens.issue(client, client.surface),
      token_type: 'Bearer',
      expires_in: tokenLifetimeSeconds,
      scope: tokenScope,
    };
  });

  serve(introspectionPath, async (request, form) => {
    const { accountId, surface } = await authenticate(request, form);
    return introspect(
      services,
      surface === 'dpc' ? accountId : undefined,
      requireParameter(form, 'token', 4_096),
    );
  });

  serve(revocationPath, async (request, form) => {
    await revoke(services, request.id, requireParameter(form, 'token', 4_096));
    return {};
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
      authorization_endpoint: services.tokens.issuer + authorizePath,
      device_authorization_endpoint: services.tokens.issuer + devicePath,
      introspection_endpoint: services.tokens.issuer + introspectionPath,
      revocation_endpoint: services.tokens.issuer + revocationPath,
      grant_types_supported: grantTypes,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: [tokenScope],
      token_endpoint_auth_methods_supported: [...clientMethods, 'none'],
      introspection_endpoint_auth_methods_supported: clientMethods,
      revocation_endpoint_auth_methods_supported: ['none'],
    }));
  }
}

/** RFC 6749 §5.1: token responses must not be cached. */
function sendBody(reply: FastifyReply, status: number, body: object) {
  return reply.code(status).headers({ 'cache-control': 'no-store', pragma: 'no-cache' }).send(body);
}

/** RFC 6749 §3.2: a parameter is sent once. */
function readForm({ body }: FastifyRequest): URLSearchParams {
  if (typeof body !== 'string') throw new OAuthRefusal('invalid_request', `The body must be ${formType}.`);
  const form = new URLSearchParams(body);
  const names = new Set<string>();
  for (const name of form.keys()) {
    if (names.has(name))
      throw new OAuthRefusal(
        'invalid_request',
        `${name.slice(0, 100)} appears more than once; send it once.`,
      );
    names.add(name);
  }
  return form;
}

function readCredentials(
  request: FastifyRequest,
  form: URLSearchParams,
): { clientId: string; secret: Secret } {
  const basic = parseBasicCredentials(request.headers.authorization);
  const clientId = basic?.clientId ?? form.get('client_id');
  const secret = basic?.secret ?? form.get('client_secret');
  if (basic !== undefined && form.has('client_secret')) {
    throw new OAuthRefusal(
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
