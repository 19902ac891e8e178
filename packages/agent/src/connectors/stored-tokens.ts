/**
 * What OAuth configurations keep in a vault: their client, and the tokens of an authorization.
 *
 * Projects share the vaults of an agent, and a caller that may configure a project may name any secret in them. So
 * tokens are stored with the project that they belong to, and another project neither uses nor replaces them.
 */
import type { ConnectorOauthPlan, SecretCoordinates } from '@headgate/contract';
import { Secret as SecretText } from '@headgate/contract/without-schemas';
import { ConnectorError } from '@headgate/pipelines';
import { createBackoff, retry } from '../backoff.ts';
import { readSecret } from '../secrets/secret-references.ts';
import { findNamedVault } from '../vaults/named-vault.ts';
import type { Vaults } from '../vaults/registry.ts';
import { VaultError, type VaultFault } from '../vaults/vault.ts';
import { readJsonMembers } from './json-members.ts';
import type { OAuthClient, ReceivedTokens } from './token-request.ts';

export interface StoredTokens {
  accessToken: string;
  refreshToken: string | undefined;
}

const storeAttempts = 3;
const passingFaults: readonly VaultFault[] = ['throttled', 'timeout', 'unavailable', 'changed'];

async function readMembers(
  vaults: Vaults,
  at: SecretCoordinates,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  return readJsonMembers((await readSecret(vaults, at, signal)).reveal()) ?? {};
}

export async function readClient(
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

function requireTokens({ tokens: at }: ConnectorOauthPlan): SecretCoordinates {
  if (at !== undefined) return at;
  throw new ConnectorError('it has no secret reference for its tokens: add tokenSecretReference');
}

export async function readTokens(
  vaults: Vaults,
  plan: ConnectorOauthPlan,
  signal: AbortSignal,
): Promise<StoredTokens> {
  const at = requireTokens(plan);
  const { accessToken, refreshToken, projectId } = await readMembers(vaults, at, signal);
  const secret = `the secret ${JSON.stringify(at.secretName)}`;
  if (typeof accessToken !== 'string')
    throw new ConnectorError(`${secret} has no accessToken: authorize the configuration`);
  if (projectId !== undefined && projectId !== plan.projectId)
    throw new ConnectorError(
      `${secret} holds the tokens of another project: name another tokenSecretReference, and authorize the configuration`,
    );
  return { accessToken, refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined };
}

/** @throws ConnectorError if tokens would replace another secret, or tokens of another project */
export async function requireTokenPlace(
  vaults: Vaults,
  plan: ConnectorOauthPlan,
  signal: AbortSignal,
): Promise<void> {
  const at = requireTokens(plan);
  const found = await readSecret(vaults, at, signal).catch((error) => {
    if (error instanceof VaultError && error.fault === 'not-found') return undefined;
    throw error;
  });
  const text = found?.reveal().trim() ?? '';
  if (text === '' || text === '{}') return;
  const { accessToken, projectId } = readJsonMembers(text) ?? {};
  const what = describeOtherContent(plan, { accessToken, projectId });
  if (what === undefined) return;
  throw new ConnectorError(
    `the secret ${JSON.stringify(at.secretName)} holds ${what}, which would be lost: give the OAuth configuration another tokenSecretReference, or have an administrator delete the secret`,
  );
}

function describeOtherContent(
  plan: ConnectorOauthPlan,
  { accessToken, projectId }: { accessToken: unknown; projectId: unknown },
): string | undefined {
  if (typeof accessToken !== 'string') return 'something else than tokens';
  if (projectId === plan.projectId) return undefined;
  if (projectId !== undefined) return 'the tokens of another project';
  // An administrator may have written them.
  return plan.authorizedAt === undefined ? 'tokens that this project did not store' : undefined;
}

/**
 * Attempts are repeated while the vault has a failure that passes.
 *
 * @param before the refresh token that stays if the server gave no other one
 */
export async function storeTokens(
  vaults: Vaults,
  plan: ConnectorOauthPlan,
  { accessToken, refreshToken }: ReceivedTokens,
  before: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { secretName: name, secretKey: key, ...place } = requireTokens(plan);
  const refresh = refreshToken?.reveal() ?? before;
  const members = {
    projectId: plan.projectId,
    accessToken: accessToken.reveal(),
    ...(refresh === undefined ? {} : { refreshToken: refresh }),
  };
  const value = new SecretText(JSON.stringify(members));
  const passes = (error: unknown) => error instanceof VaultError && passingFaults.includes(error.fault);
  await retry(() => findNamedVault(vaults, place).write({ name, key }, value, signal), {
    limit: storeAttempts,
    signal,
    again: passes,
    backoff: createBackoff(),
  });
}
