/**
 * Azure Key Vault and the token endpoint of its directory, as far as the agent uses them. Tokens are signed
 * and verified; deletion is soft.
 */
import { startFakeCloud } from './fake-cloud.ts';
import { createTokenSigner } from './token-signer.ts';

const directory = 'login.microsoftonline.com';
const vault = 'north.vault.azure.net';
const audience = 'https://vault.azure.net';
export const azureCredential = {
  tenantId: '11111111-2222-4333-8444-555555555555',
  clientId: 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee',
  clientSecret: 'a test client secret',
};
const { tenantId, clientId, clientSecret } = azureCredential;

interface Kept {
  value: string;
  state: 'live' | 'disabled' | 'deleted';
}
interface Failure {
  status: number;
  code: string;
  inner?: string;
}

export async function startFakeKeyVault() {
  const secrets = new Map<string, Kept>();
  /** The status of the next requests with a valid token; 0 sends no answer. */
  const failures: (Failure | 0)[] = [];
  const tokens = await createTokenSigner();
  /** The claims of issued tokens; tests of invalid tokens change them. */
  const claims = { aud: audience, seconds: 3_600 };
  let given = 0;

  const failed = ({ status, code, inner }: Failure, message = 'as asked for') => ({
    status,
    body: { error: { code, message, ...(inner === undefined ? {} : { innererror: { code: inner } }) } },
  });

  const serveDirectory: Host = async ({ method, url, body }) => {
    const issuer = `https://${directory}/${tenantId}`;
    if (url.pathname.endsWith('/discovery/instance')) {
      const hosts = [directory, 'login.windows.net'];
      const metadata = [{ preferred_network: directory, preferred_cache: directory, aliases: hosts }];
      const at = `${issuer}/v2.0/.well-known/openid-configuration`;
      return { status: 200, body: { tenant_discovery_endpoint: at, 'api-version': '1.1', metadata } };
    }
    if (url.pathname === `/${tenantId}/v2.0/.well-known/openid-configuration`) {
      const at = `${issuer}/oauth2/v2.0`;
      const body = { issuer: `${issuer}/v2.0`, jwks_uri: `${issuer}/keys`, token_endpoint: `${at}/token` };
      return { status: 200, body: { ...body, authorization_endpoint: `${at}/authorize` } };
    }
    const form = new URLSearchParams(body);
    const isGood =
      method === 'POST' &&
      url.pathname === `/${tenantId}/oauth2/v2.0/token` &&
      form.get('grant_type') === 'client_credentials' &&
      form.get('client_id') === clientId &&
      form.get('client_secret') === clientSecret &&
      form.get('scope')?.split(' ').includes(`${audience}/.default`);
    if (!isGood)
      return { status: 401, body: { error: 'invalid_client', error_description: `AADSTS7000215: ${body}` } };
    given++;
    const token = await tokens.sign({ appid: clientId, tid: tenantId, aud: claims.aud }, claims.seconds);
    return { status: 200, body: { token_type: 'Bearer', expires_in: 3_600, access_token: token } };
  };

  const challenge = {
    'www-authenticate': `Bearer authorization="https://${directory}/${tenantId}", resource="${audience}"`,
  };

  const serveVault: Host = async ({ method, url, headers, body }) => {
    const claimed = await tokens.check(headers.authorization, { audience });
    if (claimed?.appid !== clientId || claimed.tid !== tenantId)
      return { ...failed({ status: 401, code: 'Unauthorized' }), headers: challenge };
    const failure = failures.shift();
    if (failure === 0) return undefined;
    if (failure !== undefined) return failed(failure, `it was sent ${body}`);
    const [, kind, name] = /^\/(secrets|deletedsecrets)\/([0-9a-z-]{1,127})\/?$/i.exec(url.pathname) ?? [];
    if (name === undefined || !url.searchParams.has('api-version'))
      return failed({ status: 400, code: 'BadParameter' });
    if (kind === 'secrets') return act(method, name.toLowerCase(), body);
    const isDeleted = secrets.get(name.toLowerCase())?.state === 'deleted';
    if (!isDeleted) return failed({ status: 404, code: 'SecretNotFound' });
    return { status: 200, body: { id: `https://${vault}/secrets/${name}`, attributes: { enabled: true } } };
  };

  function act(method: string, name: string, body: string) {
    const secret = secrets.get(name);
    const found = { id: `https://${vault}/secrets/${name}/0123456789abcdef`, attributes: { enabled: true } };
    if (method === 'PUT') {
      if (secret?.state === 'deleted') {
        const inner = 'ObjectIsDeletedButRecoverable';
        return failed({ status: 409, code: 'Conflict', inner });
      }
      const { value } = JSON.parse(body) as { value: string };
      if (Buffer.byteLength(value) > 25_600) return failed({ status: 400, code: 'BadParameter' }, body);
      secrets.set(name, { value, state: 'live' });
      return { status: 200, body: { ...found, value } };
    }
    if (secret === undefined || secret.state === 'deleted')
      return failed({ status: 404, code: 'SecretNotFound' });
    if (method === 'DELETE') {
      secret.state = 'deleted';
      return { status: 200, body: { ...found, recoveryId: `https://${vault}/deletedsecrets/${name}` } };
    }
    if (secret.state === 'disabled')
      return failed({ status: 403, code: 'Forbidden', inner: 'SecretDisabled' });
    return { status: 200, body: { ...found, value: secret.value } };
  }

  const cloud = await startFakeCloud({ [directory]: serveDirectory, [vault]: serveVault });
  return { address: `https://${vault}`, secrets, failures, claims, tokensGiven: () => given, ...cloud };
}

type Host = Parameters<typeof startFakeCloud>[0][string];
