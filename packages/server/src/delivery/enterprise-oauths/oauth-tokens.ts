/**
 * Short-lived tokens of enterprise OAuth connections. They are kept in memory until five minutes before they
 * end, and are never stored.
 */
import { createSign } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';
import {
  type Credential,
  cleanHostText,
  createCredential,
  createRemoteProblem,
  findOrigin,
  type GuardedFetch,
  RemoteFailed,
  type Remotes,
} from '../git-remotes/index.ts';
import { type EnterpriseOauthRow, findEnterpriseOauth } from './enterprise-oauth.store.ts';
import { type OauthSecrets, unsealSecrets } from './enterprise-oauth.ts';

/** The operator's addresses of providers. */
export interface OauthAddresses {
  githubUrl: string;
  githubApiUrl: string;
  azureDevOpsUrl: string;
  entraUrl: string;
}

export interface OauthTokenOptions {
  database: Database;
  sealer: Sealer;
  clock: Clock;
  remotes: Remotes;
  config: { gitAddresses: OauthAddresses };
}

export interface OauthTokens {
  /**
   * A credential for repositories at the connection's provider. Its origin is the provider's, so that it is
   * sent nowhere else.
   * @throws `unknown-enterprise-oauth`, `git-host-failed`, `git-host-timeout`
   */
  getCredential(accountId: string, enterpriseOauthId: string): Promise<Credential>;
}

interface Token {
  credential: Credential;
  expiresAt: Date;
}

const spareMilliseconds = 5 * 60_000;
const timeoutMilliseconds = 15_000;
const mostAnswerBytes = 262_144;
/** The application id of Azure DevOps in Entra, the same in every tenant. */
const azureDevOpsScope = '499b84ac-1321-427f-aa17-267ca6975798/.default';

export function createOauthTokens(options: OauthTokenOptions): OauthTokens {
  const { database, sealer, clock, config } = options;
  const cache = new Map<string, { endsAt: number; token: Promise<Token> }>();

  async function request(accountId: string, id: string): Promise<Token> {
    const row = await findEnterpriseOauth(database.read, accountId, id);
    if (row === undefined) throw problem('unknown-enterprise-oauth', { id });
    const secrets = unsealSecrets(sealer, accountId, id, row.sealed_secrets);
    const ask = createAsker(options.remotes, row);
    const addresses = config.gitAddresses;
    return row.provider === 'github'
      ? requestFromGithub(row, secrets, { ask, addresses, now: clock.now() })
      : requestFromEntra(row, secrets, { ask, addresses, now: clock.now() });
  }

  return {
    async getCredential(accountId, id) {
      const key = `${accountId} ${id}`;
      const found = cache.get(key);
      const now = clock.now().getTime();
      if (found !== undefined && found.endsAt > now) return (await found.token).credential;
      const entry = { endsAt: now + spareMilliseconds, token: request(accountId, id) };
      cache.set(key, entry);
      try {
        const token = await entry.token;
        entry.endsAt = token.expiresAt.getTime() - spareMilliseconds;
        return token.credential;
      } catch (failure) {
        if (cache.get(key) === entry) cache.delete(key);
        throw failure;
      }
    },
  };
}

/** The address that credentials of a connection may be sent to. */
export function findOauthOrigin(
  { provider, base_url: baseUrl }: Pick<EnterpriseOauthRow, 'provider' | 'base_url'>,
  addresses: OauthAddresses,
): string {
  return findOrigin(baseUrl ?? (provider === 'github' ? addresses.githubUrl : addresses.azureDevOpsUrl));
}

type Ask = (url: string, options: Pick<GuardedFetch, 'headers' | 'body'>) => Promise<Record<string, unknown>>;

interface Asking {
  ask: Ask;
  addresses: OauthAddresses;
  now: Date;
}

/** https://docs.github.com/en/apps: a JWT of the App gives a token of its installation. */
async function requestFromGithub(
  row: EnterpriseOauthRow,
  { privateKey }: OauthSecrets,
  { ask, addresses, now }: Asking,
): Promise<Token> {
  const base = row.base_url ?? addresses.githubUrl;
  const api = base === addresses.githubUrl ? addresses.githubApiUrl : `${base}/api/v3`;
  const seconds = Math.floor(now.getTime() / 1_000);
  // A minute earlier, for clocks that differ; GitHub accepts ten minutes at most.
  const claims = { iat: seconds - 60, exp: seconds + 540, iss: row.client_id };
  const answer = await ask(`${api}/app/installations/${row.installation_id}/access_tokens`, {
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${signJwt(claims, privateKey ?? new Secret(''))}`,
    },
    body: '',
  });
  const expiresAt = new Date(String(answer.expires_at));
  const token = requireToken(answer.token, api);
  return {
    credential: createCredential('github', { url: base, token }),
    expiresAt: Number.isNaN(expiresAt.getTime()) ? now : expiresAt,
  };
}

/** RFC 6749 §4.4, at the tenant's endpoint. */
async function requestFromEntra(
  row: EnterpriseOauthRow,
  { clientSecret }: OauthSecrets,
  { ask, addresses, now }: Asking,
): Promise<Token> {
  const url = `${addresses.entraUrl}/${row.tenant_id}/oauth2/v2.0/token`;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: row.client_id,
    client_secret: clientSecret?.reveal() ?? '',
    scope: azureDevOpsScope,
  });
  const answer = await ask(url, {
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
  const token = requireToken(answer.access_token, url);
  const seconds = Number(answer.expires_in);
  return {
    credential: { kind: 'bearer', origin: findOauthOrigin(row, addresses), token },
    expiresAt: new Date(now.getTime() + (Number.isFinite(seconds) ? seconds * 1_000 : 0)),
  };
}

function signJwt(claims: object, key: Secret): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key.reveal(), 'base64url')}`;
}

function createAsker(remotes: Remotes, { name }: EnterpriseOauthRow): Ask {
  const connection = `The enterprise OAuth connection ${JSON.stringify(name)}`;
  return async (url, options) => {
    try {
      const answer = await remotes.fetchText(url, {
        ...options,
        method: 'POST',
        mostBytes: mostAnswerBytes,
        timeoutMilliseconds,
      });
      if (answer.status !== 200 && answer.status !== 201) {
        const reason = `${connection} gets no token: ${new URL(url).host} answered ${answer.status}. ${remedyFor(answer.status)}`;
        throw problem('git-host-failed', { reason, words: readWords(answer.body) });
      }
      return readObject(answer.body);
    } catch (failure) {
      throw failure instanceof RemoteFailed ? createRemoteProblem(failure.failure, connection) : failure;
    }
  };
}

function remedyFor(status: number): string {
  if (status === 404) return 'Is the installation id right, and the App still installed?';
  if (status === 400 || status === 401)
    return 'Its client id, secret, key or tenant is wrong or has expired; create the connection again.';
  return status === 403 ? 'The application was suspended, or lacks a right.' : 'Try again later.';
}

function readObject(text: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The provider's own sentence. Not the whole answer, which could repeat what was sent. */
function readWords(text: string): string {
  const { message, error_description: description, error } = readObject(text);
  const said = [message, description, error].find((each) => typeof each === 'string');
  return cleanHostText(String(said ?? ''), undefined).slice(0, 500);
}

function requireToken(found: unknown, url: string): Secret {
  if (typeof found === 'string' && found !== '') return new Secret(found);
  throw problem('git-host-failed', {
    reason: `${new URL(url).host} answered without a token. Is it the address of the provider?`,
    words: '',
  });
}
