/**
 * Access tokens of OAuth configurations. The server knows the configuration, the vault the client and the
 * tokens. A token is replaced by one request at a time, and what comes is in the vault before it is used: a
 * refresh token that was used up and is not stored would lock the tenant out.
 */
import type { ConnectorOauthPlan, Secret } from '@headgate/contract';
import { Secret as SecretText } from '@headgate/contract/without-schemas';
import { ConnectorError } from '@headgate/pipelines';
import { createBackoff, retry } from '../backoff.ts';
import { getReason } from '../log.ts';
import { type ControlPlane, ControlPlaneError, isTransient } from '../session/control-plane.ts';
import type { WorkKey } from '../session/outbox.ts';
import type { Time } from '../time.ts';
import { waitUnlessAborted } from '../unless-aborted.ts';
import type { Vaults } from '../vaults/registry.ts';
import type { Exchange } from './exchange.ts';
import {
  readClient,
  readTokens,
  requireTokenPlace,
  type StoredTokens,
  storeTokens,
} from './stored-tokens.ts';
import { GrantRefused, type ReceivedTokens, requestTokens } from './token-request.ts';

export interface OAuthTokens {
  /**
   * @param refused the token that the API did not accept
   * @throws Error that names the configuration and contains no secret, or the reason of the signal
   */
  read(work: WorkKey, name: string, refused: string | undefined, signal: AbortSignal): Promise<Secret>;
  /** Exchanges the code of an authorization, and stores the tokens. */
  authorize(work: WorkKey, name: string, signal: AbortSignal): Promise<void>;
  /** Resolves when tokens that were asked for are stored. */
  settle(): Promise<void>;
}

export interface OAuthTokensOptions {
  controlPlane: Pick<ControlPlane, 'connectorOauth' | 'connectorOauthProblem'>;
  instanceId: string;
  vaults: Vaults;
  exchange: Exchange;
  time: Pick<Time, 'now' | 'sleep' | 'timeout'>;
}

/** A token is replaced after this part of its lifetime. */
const replaceAfter = 0.9;
const lookupAttempts = 8;
/** Configurations whose access token is kept in memory. */
const keptTokens = 1_000;
/** How often, and after how long, the vault is read for what another instance stores. */
const newerAttempts = 5;
const newerMilliseconds = 1_000;
const reportMilliseconds = 15_000;
/** What was sent to a token server is not given up: its response may hold the only valid refresh token. */
const never = new AbortController().signal;

interface KeptToken {
  token: Secret;
  /** By the clock of `time`; undefined if the server did not say how long it lives. */
  until: number | undefined;
  /** Of its authorization. A later one, perhaps by another agent, makes it void. */
  authorizedAt: string | undefined;
}

interface UnstoredTokens extends Pick<KeptToken, 'authorizedAt'> {
  tokens: ReceivedTokens;
  before: string | undefined;
}

export function createOAuthTokens(options: OAuthTokensOptions): OAuthTokens {
  const { vaults, exchange, time } = options;
  const retained = new Map<string, KeptToken>();
  /** What a vault did not take. */
  const unstored = new Map<string, UnstoredTokens>();
  /** The last piece of work for each configuration. */
  const turns = new Map<string, Promise<unknown>>();

  /** One piece of work for each configuration at a time. A caller that stops does not stop the work. */
  function runAlone<T>(id: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = turns.get(id) ?? Promise.resolve();
    const mine = before
      .catch(() => undefined)
      .then(() => {
        signal.throwIfAborted();
        return work();
      })
      .finally(() => {
        if (turns.get(id) === mine) turns.delete(id);
      });
    turns.set(id, mine);
    return waitUnlessAborted(mine, signal);
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

  function keep(plan: ConnectorOauthPlan, { accessToken, lifetime }: ReceivedTokens): Secret {
    const [oldest] = retained.keys();
    if (retained.size >= keptTokens && oldest !== undefined) retained.delete(oldest);
    const until = lifetime === undefined ? undefined : time.now() + lifetime * 1_000 * replaceAfter;
    const { connectorOauthId: id, authorizedAt } = plan;
    retained.set(id, { token: accessToken, until, authorizedAt });
    return accessToken;
  }

  const keepStored = (plan: ConnectorOauthPlan, { accessToken }: StoredTokens) =>
    keep(plan, { accessToken: new SecretText(accessToken), refreshToken: undefined, lifetime: undefined });

  function forgetEarlier({ connectorOauthId: id, authorizedAt }: ConnectorOauthPlan): void {
    for (const map of [retained, unstored]) if (map.get(id)?.authorizedAt !== authorizedAt) map.delete(id);
  }

  function findKept(id: string, refused: string | undefined): Secret | undefined {
    const found = retained.get(id);
    const isUsable = found !== undefined && (found.until === undefined || time.now() < found.until);
    return isUsable && found.token.reveal() !== refused ? found.token : undefined;
  }

  /** Tokens that cannot be stored are kept for the next attempt. */
  async function store(plan: ConnectorOauthPlan, tokens: ReceivedTokens, before: string | undefined) {
    const { connectorOauthId: id, authorizedAt } = plan;
    try {
      await storeTokens(vaults, plan, tokens, before, never);
      unstored.delete(id);
    } catch (error) {
      unstored.set(id, { tokens, before, authorizedAt });
      throw new ConnectorError(`new tokens came, but they could not be stored: ${getReason(error)}`);
    }
  }

  /** Another instance may have used the refresh token at the same moment. It stores the new one soon. */
  async function findNewer(
    plan: ConnectorOauthPlan,
    before: StoredTokens,
  ): Promise<StoredTokens | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const found = await readTokens(vaults, plan, never);
      if (found.accessToken !== before.accessToken) return found;
      if (attempt >= newerAttempts) return undefined;
      await time.sleep(newerMilliseconds);
    }
  }

  async function refresh(plan: ConnectorOauthPlan, refused: string | undefined): Promise<Secret> {
    const { connectorOauthId: id } = plan;
    const left = unstored.get(id);
    if (left !== undefined) await store(plan, left.tokens, left.before);
    const stored = await readTokens(vaults, plan, never);
    const spent = [refused, retained.get(id)?.token.reveal()];
    // Another instance may have replaced it meanwhile.
    if (!spent.includes(stored.accessToken)) return keepStored(plan, stored);
    const { refreshToken } = stored;
    if (refreshToken === undefined)
      throw new GrantRefused(
        'its access token is over, and the vault has no refresh token: authorize it again',
      );
    const client = await readClient(vaults, plan, never);
    const grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
    try {
      const parameters = { ...plan.additionalParameters, ...grant };
      const tokens = await requestTokens(exchange, plan.tokenUrl, client, parameters, never);
      await store(plan, tokens, refreshToken);
      return keep(plan, tokens);
    } catch (error) {
      if (!(error instanceof GrantRefused && error.isGrantOver)) throw error;
      const newer = await findNewer(plan, stored);
      if (newer === undefined) throw error;
      return keepStored(plan, newer);
    }
  }

  async function requestByClient(plan: ConnectorOauthPlan): Promise<Secret> {
    const client = await readClient(vaults, plan, never);
    const grant = { ...renderScopes(plan), grant_type: 'client_credentials' };
    const parameters = { ...plan.additionalParameters, ...grant };
    return keep(plan, await requestTokens(exchange, plan.tokenUrl, client, parameters, never));
  }

  /** The configuration shows it. A report that fails must not hide the reason itself. */
  async function reportProblem(work: WorkKey, plan: ConnectorOauthPlan, problem: string | null) {
    const { workId, epoch } = work;
    const { connectorOauthId } = plan;
    const body = { instanceId: options.instanceId, workId, epoch, connectorOauthId, problem };
    await options.controlPlane
      .connectorOauthProblem(body, time.timeout(reportMilliseconds))
      .catch(() => undefined);
  }

  async function findToken(work: WorkKey, plan: ConnectorOauthPlan, refused: string | undefined) {
    const id = plan.connectorOauthId;
    forgetEarlier(plan);
    const known = findKept(id, refused);
    if (known !== undefined) return known;
    try {
      const isOfClient = plan.grantType === 'CLIENT_CREDENTIALS';
      const token = await (isOfClient ? requestByClient(plan) : refresh(plan, refused));
      if (plan.problem !== undefined) await reportProblem(work, plan, null);
      return token;
    } catch (error) {
      retained.delete(id);
      if (error instanceof GrantRefused) await reportProblem(work, plan, getReason(error).slice(0, 1_000));
      throw error;
    }
  }

  async function exchangeCode(plan: ConnectorOauthPlan, grant: NonNullable<ConnectorOauthPlan['grant']>) {
    const client = await readClient(vaults, plan, never);
    await requireTokenPlace(vaults, plan, never);
    const parameters = {
      ...plan.additionalParameters,
      grant_type: 'authorization_code',
      code: grant.code,
      redirect_uri: grant.redirectUri,
      code_verifier: grant.codeVerifier,
    };
    const tokens = await requestTokens(exchange, plan.tokenUrl, client, parameters, never);
    await storeTokens(vaults, plan, tokens, undefined, never);
    retained.delete(plan.connectorOauthId);
    unstored.delete(plan.connectorOauthId);
  }

  return {
    async read(work, name, refused, signal) {
      const about = `the OAuth configuration ${JSON.stringify(name)}`;
      const plan = await lookUp(work, name, signal).catch((error) => {
        signal.throwIfAborted();
        throw new ConnectorError(`${about} ${describeLookupFault(error)}`);
      });
      const finding = runAlone(plan.connectorOauthId, signal, () => findToken(work, plan, refused));
      return finding.catch((error) => {
        signal.throwIfAborted();
        throw new ConnectorError(`${about} gives no token: ${getReason(error)}`);
      });
    },
    async authorize(work, name, signal) {
      const plan = await lookUp(work, name, signal);
      const { grant } = plan;
      if (grant === undefined) throw new ConnectorError('the authorization is over: start it again');
      await runAlone(plan.connectorOauthId, signal, () => exchangeCode(plan, grant));
    },
    async settle() {
      await Promise.allSettled(turns.values());
    },
  };
}

function renderScopes({ scopes }: ConnectorOauthPlan): { scope?: string } {
  return scopes.length === 0 ? {} : { scope: scopes.join(' ') };
}

function describeLookupFault(error: unknown): string {
  const code = error instanceof ControlPlaneError ? error.code : undefined;
  if (code === 'connector-oauth-not-found')
    return 'does not exist in the project: create it, or correct the name';
  if (code === 'connector-oauth-pending')
    return 'is PENDING: authorize it, or give it its secret references, before it is used';
  return `cannot be looked up: ${getReason(error)}`;
}
