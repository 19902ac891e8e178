/**
 * `POST /oauth/dpc/token`: the client credentials grant (RFC 6749 §4.4), its errors by §5.2; the keys (RFC 7517) and the metadata (RFC 8414).
 * It lies beside `/dpc` and answers in the words of OAuth, not as ProblemDetail (decisions.md, exceptions).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { decode } from '../../kernel/content-encoding.ts';
import { isDiskFull } from '../../kernel/database.ts';
import type { Services } from '../../kernel/endpoint.ts';
import { recordEvents } from '../../kernel/events.ts';
import { problem } from '../../kernel/problems.ts';
import { Secret } from '../../kernel/sealed.ts';
import { jwksSeconds, tokenLifetimeSeconds } from '../../kernel/signing-keys.ts';
import { tokenScope } from '../../kernel/tokens.ts';
import { type Client, clientById, hasSecret, noteTokenGiven } from '../credentials/index.ts';
import { addressKey, createThrottle } from './throttle.ts';

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

export function tokenRoutes(app: FastifyInstance, services: Services): void {
  const throttle = createThrottle(services.clock);
  app.addContentTypeParser<Buffer>(
    formType,
    { parseAs: 'buffer', bodyLimit: formLimit.bytes },
    (request, bytes, done) =>
      decode(bytes, request.headers, formLimit, (failure, content) =>
        done(failure, content?.toString('utf8')),
      ),
  );

  app.post(tokenPath, async (request, reply) => {
    try {
      const { clientId, secret } = credentialsIn(request);
      const client = await authenticated(services, throttle, request, clientId, secret);
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
    return services.tokens.publicKeys();
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

function credentialsIn(request: FastifyRequest): { clientId: string; secret: string } {
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
  return { clientId, secret };
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

async function authenticated(
  services: Services,
  throttle: ReturnType<typeof createThrottle>,
  request: FastifyRequest,
  clientId: string,
  secret: string,
): Promise<Client> {
  const keys = [addressKey(request.ip), `client ${clientId}`];
  const pause = throttle.pause(keys);
  if (pause > 0) {
    const description = `Too many failed attempts; try again in ${pause} s.`;
    throw new Refusal('invalid_client', description, 429, { 'retry-after': String(pause) });
  }
  const client =
    clientId.isWellFormed() && !clientId.includes('\0') ? await findClient(services, clientId) : undefined;
  // The digest is computed for an unknown client too: the time to answer does not tell which ids exist.
  const matches = hasSecret(services.sealer, client ?? nobody, new Secret(secret));
  if (client === undefined || !matches || !client.active) {
    throttle.failed(keys);
    if (client !== undefined) await noteRefusal(services, client, clientId, request.id);
    throw refusedClient('The client is not known, its secret is wrong, or it is no longer active.');
  }
  if (client.surface === 'dpc')
    await noteTokenGiven(services.database.read, client, services.clock.now()).catch(ignoreFullDisk);
  // The address keeps its count: a client of one's own must not make guessing at others free.
  throttle.succeeded(keys.slice(1));
  return client;
}

/** While nothing can be written, clients still get the tokens that they need to read. */
function ignoreFullDisk(failure: unknown): void {
  if (!isDiskFull(failure)) throw failure;
}

const nobody = { secretDigest: Buffer.alloc(32), previousSecretDigest: null };

function findClient(services: Services, clientId: string): Promise<Client | undefined> {
  return clientById(services.database.read, clientId, services.clock.now());
}

async function noteRefusal(
  services: Services,
  client: Client,
  clientId: string,
  requestId: string,
): Promise<void> {
  const source = { accountId: client.accountId, actorId: null, actorKind: 'system', requestId } as const;
  const type = client.surface === 'agent' ? 'agent' : 'credential';
  const event = { name: 'token-refused', subject: { type, id: client.actorId, name: clientId } } as const;
  await services.database.transaction((tx) =>
    recordEvents(tx, source, [event], services.clock.now(), services.newId),
  );
}
