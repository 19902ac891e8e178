/**
 * Access tokens of OAuth configurations. The server knows the configuration, the vault the client and the
 * tokens. A token is replaced by one request at a time, and what comes is in the vault before it is used: a
 * refresh token that was used up and is not stored would lock the tenant out.
 */
import type { ConnectorOauthPlan, Secret, SecretCoordinates } from '@headgate/contract';
import { Secret as SecretText } from '@headgate/contract/without-schemas';
import { ConnectorError } from '@headgate/pipelines';
import { createBackoff, retry } from '../backoff.ts';
import { getReason } from '../log.ts';
import { readSecret } from '../secrets/secret-references.ts';
import { type ControlPlane, isTransient } from '../session/control-plane.ts';
import type { WorkKey } from '../session/outbox.ts';
import type { Time } from '../time.ts';
import { findNamedVault } from '../vaults/named-vault.ts';
import type { Vaults } from '../vaults/registry.ts';
import { VaultError } from '../vaults/vault.ts';
import type { Exchange } from './exchange.ts';
import { GrantRefused, type OAuthClient, type ReceivedTokens, requestTokens } from './token-request.ts';

export interface OAuthTokens {
  /**
   * @param refused the token that the API did not accept
   * @throws Error that names the configuration and contains no secret
   */
  read(work: WorkKey, name: string, refused: string | undefined, signal: AbortSignal): Promise<Secret>;
  /** Exchanges the code of an authorization, and stores the tokens. */
  authorize(work: WorkKey, name: string, signal: AbortSignal): Promise<void>;
}

export interface OAuthTokensOptions {
  controlPlane: Pick<ControlPlane, 'connectorOauth' | 'connectorOauthProblem'>;
  instanceId: string;
  vaults: Vaults;
  exchange: Exchange;
  time: Pick<Time, 'now'>;
}

/** A token is replaced after this part of its lifetime. */
const replaceAfter = 0.9;
const lookupAttempts = 8;
/** Configurations whose access token is kept in memory. */
const keptTokens = 1_000;

interface KeptToken {
  token: Secret;
  /** By the clock of `time`; undefined if the server did not say how long it lives. */
  until: number | undefined;
}

export function createOAuthTokens(options: OAuthTokensOptions): OAuthTokens {
  const kept = new Map<string, KeptToken>();
  /** The last piece of work for each configuration. */
  const turns = new Map<string, Promise<unknown>>();

  async function runAlone<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = turns.get(id) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(work);
    turns.set(id, mine);
    try {
      return await mine;
    } finally {
      if (turns.get(id) === mine) turns.delete(id);
    }
  }

  function lookUp(
    { workId, epoch }: WorkKey,
    name: string,
    signal: AbortSignal,
  ): Promise<ConnectorOauthPlan> {
    const body = { instanceId: options.instanceId, workId, epoch, name };
    const again = { limit: lookupAttempts, signal, again: isTransient, backoff: createBackoff() };
    return retry(() => options.controlPlane.connectorOauth(body, signal), again);
  }

  function keep(id: string, { accessToken, lifetime }: ReceivedTokens): Secret {
    const [oldest] = kept.keys();
    if (kept.size >= keptTokens && oldest !== undefined) kept.delete(oldest);
    const until = lifetime === undefined ? undefined : options.time.now() + lifetime * 1_000 * replaceAfter;
    kept.set(id, { token: accessToken, until });
    return accessToken;
  }

  function findKept(id: string, refused: string | undefined): Secret | undefined {
    const found = kept.get(id);
    const isUsable = found !== undefined && (found.until === undefined || options.time.now() < found.until);
    return isUsable && found.token.reveal() !== refused ? found.token : undefined;
  }

  async function findToken(plan: ConnectorOauthPlan, refused: string | undefined, signal: AbortSignal) {
    const known = findKept(plan.connectorOauthId, refused);
    if (known !== undefined) return known;
    const client = await readClient(options.vaults, plan, signal);
    const frame = { ...plan.additionalParameters, ...renderScopes(plan) };
    if (plan.grantType === 'CLIENT_CREDENTIALS') {
      const parameters = { ...frame, grant_type: 'client_credentials' };
      return keep(
        plan.connectorOauthId,
        await requestTokens(options.exchange, plan.tokenUrl, client, parameters, signal),
      );
    }
    const stored = await readTokens(options.vaults, plan, signal);
    const spent = [refused, kept.get(plan.connectorOauthId)?.token.reveal()];
    // Another instance may have replaced it meanwhile.
    if (!spent.includes(stored.accessToken)) {
      const accessToken = new SecretText(stored.accessToken);
      return keep(plan.connectorOauthId, { accessToken, refreshToken: undefined, lifetime: undefined });
    }
    if (stored.refreshToken === undefined)
      throw new GrantRefused(
        'its access token is over, and the vault has no refresh token: authorize it again',
      );
    const parameters = {
      ...plan.additionalParameters,
      grant_type: 'refresh_token',
      refresh_token: stored.refreshToken,
    };
    const tokens = await requestTokens(options.exchange, plan.tokenUrl, client, parameters, signal);
    await store(options.vaults, plan, tokens, stored.refreshToken, signal);
    return keep(plan.connectorOauthId, tokens);
  }

  /** The configuration shows it. A report that fails must not hide the reason itself. */
  async function reportProblem(
    work: WorkKey,
    plan: ConnectorOauthPlan,
    problem: string | null,
    signal: AbortSignal,
  ) {
    const { workId, epoch } = work;
    const { connectorOauthId } = plan;
    const body = { instanceId: options.instanceId, workId, epoch, connectorOauthId, problem };
    await options.controlPlane.connectorOauthProblem(body, signal).catch(() => undefined);
  }
  const failing = new Set<string>();

  return {
    async read(work, name, refused, signal) {
      const about = `the OAuth configuration ${JSON.stringify(name)}`;
      const plan = await lookUp(work, name, signal).catch((error) => {
        throw new ConnectorError(`${about} cannot be looked up: ${getReason(error)}`);
      });
      return runAlone(plan.connectorOauthId, async () => {
        try {
          const token = await findToken(plan, refused, signal);
          if (failing.delete(plan.connectorOauthId)) await reportProblem(work, plan, null, signal);
          return token;
        } catch (error) {
          signal.throwIfAborted();
          kept.delete(plan.connectorOauthId);
          if (error instanceof GrantRefused) {
            failing.add(plan.connectorOauthId);
            await reportProblem(work, plan, getReason(error).slice(0, 1_000), signal);
          }
          throw new ConnectorError(`${about} gives no token: ${getReason(error)}`);
        }
      });
    },
    async authorize(work, name, signal) {
      const plan = await lookUp(work, name, signal);
      const { grant } = plan;
      if (grant === undefined) throw new ConnectorError('the authorization is over: start it again');
      await runAlone(plan.connectorOauthId, async () => {
        const client = await readClient(options.vaults, plan, signal);
        await requireTokenPlace(options.vaults, plan, signal);
        const parameters = {
          ...plan.additionalParameters,
          grant_type: 'authorization_code',
          code: grant.code,
          redirect_uri: grant.redirectUri,
          code_verifier: grant.codeVerifier,
        };
        const tokens = await requestTokens(options.exchange, plan.tokenUrl, client, parameters, signal);
        await store(options.vaults, plan, tokens, undefined, signal);
        keep(plan.connectorOauthId, tokens);
        failing.delete(plan.connectorOauthId);
      });
    },
  };
}

function renderScopes({ scopes }: ConnectorOauthPlan): { scope?: string } {
  return scopes.length === 0 ? {} : { scope: scopes.join(' ') };
}

async function readMembers(
  vaults: Vaults,
  at: SecretCoordinates,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const text = (await readSecret(vaults, at, signal)).reveal();
  try {
    const members: unknown = JSON.parse(text);
    return typeof members === 'object' && members !== null ? (members as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

async function readClient(
  vaults: Vaults,
  { clientSecret: at }: ConnectorOauthPlan,
  signal: AbortSignal,
): Promise<OAuthClient> {
  if (at === undefined)
    throw new ConnectorError('it has no secret reference for its client: add clientSecretReference');
  const { clientId, clientSecret } = await readMembers(vaults, at, signal);
  if (typeof clientId !== 'string' || typeof clientSecret !== 'string')
    throw new ConnectorError(
      `the secret ${JSON.stringify(at.secretName)} is not a JSON object with clientId and clientSecret`,
    );
  return { clientId, clientSecret };
}

async function readTokens(vaults: Vaults, { tokens: at }: ConnectorOauthPlan, signal: AbortSignal) {
  if (at === undefined)
    throw new ConnectorError('it has no secret reference for its tokens: add tokenSecretReference');
  const { accessToken, refreshToken } = await readMembers(vaults, at, signal);
  if (typeof accessToken !== 'string')
    throw new ConnectorError(
      `the secret ${JSON.stringify(at.secretName)} has no accessToken: authorize the configuration`,
    );
  return { accessToken, refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined };
}

/**
 * A caller that may configure a project may name any secret of the vault, but only an administrator may write secrets.
 *
 * @throws ConnectorError if tokens would replace another secret
 */
async function requireTokenPlace(vaults: Vaults, { tokens: at }: ConnectorOauthPlan, signal: AbortSignal) {
  if (at === undefined) return;
  const found = await readSecret(vaults, at, signal).catch((error) => {
    signal.throwIfAborted();
    if (error instanceof VaultError && error.fault === 'not-found') return undefined;
    throw error;
  });
  const text = found?.reveal().trim() ?? '';
  if (text === '' || text === '{}') return;
  const { accessToken } = await readMembers(vaults, at, signal);
  if (typeof accessToken === 'string') return;
  throw new ConnectorError(
    `the secret ${JSON.stringify(at.secretName)} holds something else than tokens, which would be lost: create the OAuth configuration with another tokenSecretReference`,
  );
}

/** @param before the refresh token that stays if the server gave no other one */
async function store(
  vaults: Vaults,
  { tokens: at }: ConnectorOauthPlan,
  { accessToken, refreshToken }: ReceivedTokens,
  before: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (at === undefined)
    throw new ConnectorError('it has no secret reference for its tokens: add tokenSecretReference');
  const { secretName: name, secretKey: key, ...place } = at;
  const refresh = refreshToken?.reveal() ?? before;
  const members = {
    accessToken: accessToken.reveal(),
    ...(refresh === undefined ? {} : { refreshToken: refresh }),
  };
  await findNamedVault(vaults, place).write({ name, key }, new SecretText(JSON.stringify(members)), signal);
}
