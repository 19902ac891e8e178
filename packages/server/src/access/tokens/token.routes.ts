/**
 * `POST /oauth/dpc/token`: the client credentials grant (RFC 6749 §4.4), its errors by §5.2; the keys (RFC
 * 7517) and the metadata (RFC 8414). It lies beside `/dpc` and answers in the words of OAuth, not as
 * ProblemDetail (decisions.md, exceptions).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDiskFull } from '../../kernel/database/database.ts';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { decode } from '../../kernel/http/content-encoding.ts';
import { problem } from '../../kernel/http/problems.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import { jwksSeconds, tokenLifetimeSeconds } from '../../kernel/security/signing-keys.ts';
import { tokenScope } from '../../kernel/security/tokens.ts';
import { type Client, clientById, hasSecret, noteTokenGiven } from '../credentials/index.ts';
import { createRefusedAttempts, type RefusedAttempts } from './refused-attempts.ts';
import { createThrottle, type Throttle } from './throttle.ts';

const tokenPath = '/oauth/dpc/token';
const keysPath = '/.well-known/jwks.json';
/** Many OAuth clients look at the second only. */
const metadataPaths = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
const formType = 'application/x-www-form-urlencoded';
const longestMember = 1_024;
const formLimit = {
  bytes: 16_384,
  exceeded: () => problem('body-too-large', { limit: 'a form holds 16384 bytes at most' }),
};

type OAuthError = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type';

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

export function tokenRoutes({ app }: Endpoints, services: Services): void {
  const refused = createRefusedAttempts(services);
  app.addHook('onClose', () => refused.close());
  const authenticate = createAuthentication(services, createThrottle(services.clock), refused);
  app.addContentTypeParser<Buffer>(
    formType,
    { parseAs: 'buffer', bodyLimit: formLimit.bytes },
    (request, bytes, done) =>
      decode(bytes, request.headers, formLimit, (failure, content) =>
        done(failure, content?.toString('utf8')),
      ),
  );

  // Nothing else is read: a stranger may send it.
  function requireForm(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
    if (type === formType) done();
    else answer(reply, 400, { error: 'invalid_request', error_description: `The body must be ${formType}.` });
  }

  app.post(tokenPath, { onRequest: requireForm }, async (request, reply) => {
    try {
      const { clientId, secret } = credentialsIn(request);
      // Nothing else reads it, and it holds the secret.
      request.body = undefined;
      const client = await authenticate(request, clientId, secret);
      const accessToken = await services.tokens.issue({ ...client, clientId }, client.surface);
      const body = {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: tokenLifetimeSeconds,
        scope: tokenScope,
      };
      return answer(reply, 200, body);
    } catch (failure) {
      if (!(failure instanceof Refusal)) throw failure;
      reply.headers(failure.headers);
      return answer(reply, failure.status, { error: failure.error, error_description: failure.message });
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

/** RFC 6749 §5.1: token answers are not kept by anyone. */
function answer(reply: FastifyReply, status: number, body: object) {
  return reply.code(status).headers({ 'cache-control': 'no-store', pragma: 'no-cache' }).send(body);
}

function credentialsIn(request: FastifyRequest): { clientId: string; secret: Secret } {
  if (typeof request.body !== 'string') throw new Refusal('invalid_request', `The body must be ${formType}.`);
  const form = new URLSearchParams(request.body);
  for (const name of ['grant_type', 'client_id', 'client_secret']) {
    if (form.getAll(name).length > 1)
      throw new Refusal('invalid_request', `${name} is given more than once.`);
  }
  const grantType = form.get('grant_type');
  if (grantType === null) throw new Refusal('invalid_request', 'grant_type is required: client_credentials.');
  if (grantType !== 'client_credentials') {
    throw new Refusal('unsupported_grant_type', 'The only grant_type is client_credentials.');
  }
  const basic = basicCredentials(request.headers.authorization);
  const clientId = basic?.clientId ?? form.get('client_id');
  const secret = basic?.secret ?? form.get('client_secret');
  if (basic !== undefined && form.has('client_secret')) {
    throw new Refusal('invalid_request', 'The client authenticates twice: by HTTP Basic and in the body.');
  }
  if (!clientId || !secret)
    throw refusedClient('client_id and client_secret are required, in the body or as HTTP Basic.');
  if (clientId.length > longestMember || secret.length > longestMember)
    throw refusedClient('The client is not known.');
  return { clientId, secret: new Secret(secret) };
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basicCredentials(header: string | undefined): { clientId: string; secret: string } | undefined {
  const match = /^Basic +([\w+/=-]+) *$/i.exec(header ?? '');
  if (match?.[1] === undefined) return undefined;
  const [clientId = '', ...rest] = Buffer.from(match[1], 'base64').toString('utf8').split(':');
  try {
    const decoded = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
    return { clientId: decoded(clientId), secret: decoded(rest.join(':')) };
  } catch {
    throw refusedClient('The Basic credentials are not form-encoded.');
  }
}

function refusedClient(description: string): Refusal {
  return new Refusal('invalid_client', description, 401, { 'www-authenticate': 'Basic realm="headgate"' });
}

/**
 * Answers the client whose id and secret a request brings. A known client and an unknown one take the same
 * path and the same time: one trip to the database, one comparison, and an event, if any, after the answer.
 */
function createAuthentication(services: Services, throttle: Throttle, refused: RefusedAttempts) {
  const { sealer, database, clock } = services;

  return async (request: FastifyRequest, clientId: string, secret: Secret): Promise<Client> => {
    const attempt = { address: request.ip, clientId };
    refuseFor(throttle.addressPause(attempt.address));
    const client = await findClient(services, clientId);
    const matches = hasSecret(sealer, client ?? nobody, secret);
    // Others from the address may have failed meanwhile: of many guesses at one moment no more count than one
    // after another.
    refuseFor(throttle.addressPause(attempt.address));
    if (client === undefined || !matches || !client.active) {
      const pause = throttle.pairPause(attempt);
      throttle.failed({ ...attempt, guess: sealer.digest(secret.reveal(), 'refused secret') });
      refuseFor(pause);
      if (client !== undefined) refused.note({ client, clientId, requestId: request.id, at: clock.now() });
      throw refusedClient('The client is not known, its secret is wrong, or it is no longer active.');
    }
    throttle.succeeded(attempt);
    if (client.surface === 'dpc')
      await noteTokenGiven(database.read, client, clock.now()).catch(ignoreFullDisk);
    return client;
  };
}

/** Throws 429 unless the pause is 0. */
function refuseFor(pauseSeconds: number): void {
  if (pauseSeconds === 0) return;
  const description = `Too many failed attempts; try again in ${pauseSeconds} s.`;
  throw new Refusal('invalid_client', description, 429, { 'retry-after': String(pauseSeconds) });
}

/** While nothing can be written, clients still get the tokens that they need to read. */
function ignoreFullDisk(failure: unknown): void {
  if (!isDiskFull(failure)) throw failure;
}

const nobody = { secretDigest: Buffer.alloc(32), previousSecretDigest: null };

async function findClient({ database, clock }: Services, clientId: string): Promise<Client | undefined> {
  // What PostgreSQL cannot store is no client's id.
  if (!clientId.isWellFormed() || clientId.includes('\0')) return undefined;
  return clientById(database.read, clientId, clock.now());
}
