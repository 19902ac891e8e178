/**
 * Google Secret Manager and Google's token endpoint, as far as the agent uses them. A service account signs
 * its own tokens, as Google's libraries do; they are verified by its public key. A user's refresh token is
 * exchanged for a token of the endpoint.
 */
import { generateKeyPairSync } from 'node:crypto';
import { startFakeCloud } from './fake-cloud.ts';
import { checkToken, createTokenSigner } from './token-signer.ts';

const service = 'secretmanager.googleapis.com';
const cloudScope = 'https://www.googleapis.com/auth/cloud-platform';
const project = 'north-4711';
const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
/** Files that GOOGLE_APPLICATION_CREDENTIALS may name. */
export const googleCredentials = {
  serviceAccount: {
    type: 'service_account',
    project_id: project,
    private_key_id: '0123456789abcdef',
    private_key: privateKey,
    client_email: `agent@${project}.iam.gserviceaccount.com`,
    client_id: '1',
    token_uri: 'https://oauth2.googleapis.com/token',
  },
  user: {
    type: 'authorized_user',
    client_id: 'a client of the test',
    client_secret: 'its secret',
    refresh_token: 'a refresh token of the test',
  },
};

type Version = { data: string; state: 'ENABLED' | 'DISABLED' | 'DESTROYED' };
interface Kept {
  replication: unknown;
  versions: Version[];
}
/** The names of gRPC's codes and their HTTP statuses. */
const statuses = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const;
type Status = keyof typeof statuses;

export async function startFakeGoogleSecrets() {
  const secrets = new Map<string, Kept>();
  /** The status of the next requests with a valid token; 0 sends no answer. */
  const failures: (Status | 0)[] = [];
  const tokens = await createTokenSigner();
  const seen = { selfSigned: 0, fromEndpoint: 0 };

  const failed = (status: Status, message = 'as asked for') => ({
    status: statuses[status],
    body: { error: { code: statuses[status], message, status } },
  });

  const serveTokens: Host = async ({ url, body }) => {
    const form = new URLSearchParams(body);
    const { client_id, client_secret, refresh_token } = googleCredentials.user;
    const isGood =
      url.pathname === '/token' &&
      form.get('grant_type') === 'refresh_token' &&
      form.get('refresh_token') === refresh_token &&
      form.get('client_id') === client_id &&
      form.get('client_secret') === client_secret;
    if (!isGood) return { status: 400, body: { error: 'invalid_grant', error_description: body } };
    const token = await tokens.sign({ aud: service, email: 'somebody@example.com' }, 3_600);
    return { status: 200, body: { access_token: token, token_type: 'Bearer', expires_in: 3_600 } };
  };

  async function isAllowed(authorization: string | undefined): Promise<boolean> {
    const { client_email: issuer } = googleCredentials.serviceAccount;
    const own = await checkToken(authorization, publicKey, { issuer });
    if (own !== undefined && own.sub === issuer) {
      seen.selfSigned++;
      const scopes = String(own.scope ?? '').split(' ');
      const isForUs = own.aud === `https://${service}/` || scopes.includes(cloudScope);
      return isForUs && Number(own.exp) - Number(own.iat) <= 3_600;
    }
    if ((await tokens.check(authorization, { audience: service })) === undefined) return false;
    seen.fromEndpoint++;
    return true;
  }

  const serveSecrets: Host = async ({ method, url, headers, body }) => {
    if (!(await isAllowed(headers.authorization))) return failed('UNAUTHENTICATED');
    const failure = failures.shift();
    if (failure === 0) return undefined;
    if (failure !== undefined) return failed(failure, `it was sent ${body}`);
    if (method === 'POST' && url.pathname === `/v1/projects/${project}/secrets`)
      return create(url.searchParams.get('secretId') ?? '', JSON.parse(body));
    const form =
      /^\/v1\/projects\/north-4711\/secrets\/([\w-]{1,255})(\/versions\/latest:access|:addVersion)?$/;
    const [, name = '', action] = form.exec(url.pathname) ?? [];
    const secret = secrets.get(name);
    if (secret === undefined) return failed('NOT_FOUND', `Secret [${url.pathname}] not found.`);
    if (method === 'POST' && action === ':addVersion') return add(secret, name, JSON.parse(body));
    if (method === 'GET' && action !== undefined) return access(secret, name);
    if (method !== 'DELETE') return failed('INVALID_ARGUMENT');
    secrets.delete(name);
    return { status: 200, body: {} };
  };

  function create(name: string, { replication }: { replication?: unknown }) {
    if (!/^[\w-]{1,255}$/.test(name) || replication === undefined) return failed('INVALID_ARGUMENT');
    if (secrets.has(name)) return failed('ALREADY_EXISTS');
    secrets.set(name, { replication, versions: [] });
    return { status: 200, body: { name: `projects/${project}/secrets/${name}` } };
  }

  function add({ versions }: Kept, name: string, { payload }: { payload?: { data?: string } }) {
    const data = payload?.data ?? '';
    if (Buffer.byteLength(data, 'base64') > 65_536) return failed('INVALID_ARGUMENT', `too long: ${data}`);
    versions.push({ data, state: 'ENABLED' });
    const at = `projects/${project}/secrets/${name}/versions/${versions.length}`;
    return { status: 200, body: { name: at, state: 1 } };
  }

  function access({ versions }: Kept, name: string) {
    const latest = versions.at(-1);
    if (latest === undefined) return failed('NOT_FOUND');
    const at = `projects/${project}/secrets/${name}/versions/${versions.length}`;
    if (latest.state !== 'ENABLED')
      return failed('FAILED_PRECONDITION', `Secret Version [${at}] is in ${latest.state} state.`);
    return { status: 200, body: { name: at, payload: { data: latest.data } } };
  }

  // Over HTTPS Google's library uses no proxy for this service, so it gets its own address.
  const cloud = await startFakeCloud({ 'oauth2.googleapis.com': serveTokens, localhost: serveSecrets });
  return { endpoint: `https://localhost:${cloud.port}`, project, secrets, failures, seen, ...cloud };
}

type Host = Parameters<typeof startFakeCloud>[0][string];
