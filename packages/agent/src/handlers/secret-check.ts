/** Checks for each secret whether this agent can read it. The value is not passed on. */
import type { CheckedSecrets, SecretCoordinates, SecretFinding } from '@headgate/contract';
import { getReason } from '../log.ts';
import type { Vaults } from '../vaults/registry.ts';
import { VaultError, type VaultFault } from '../vaults/vault.ts';
import type { Handler } from './handler.ts';

export interface SecretCheckDependencies {
  vaults: Vaults;
}

type SecretState = CheckedSecrets[number];

/** Concurrent requests. Vaults throttle clients with more. */
const concurrency = 5;
const messageLimit = 500;

const findingOf: Record<VaultFault, SecretFinding> = {
  'not-found': 'NOT_FOUND',
  'being-deleted': 'NOT_FOUND',
  'not-keyed': 'NOT_FOUND',
  disabled: 'NOT_FOUND',
  invalid: 'NOT_FOUND',
  denied: 'DENIED',
  throttled: 'UNAVAILABLE',
  timeout: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  changed: 'UNAVAILABLE',
};

export function createSecretCheckHandler({ vaults }: SecretCheckDependencies): Handler<'secret-check'> {
  return async ({ payload }, { kill }) => {
    const { secrets } = payload;
    const checkedSecrets: CheckedSecrets = [];
    let next = 0;
    async function work(): Promise<void> {
      for (let at = next++; at < secrets.length; at = next++) {
        kill.throwIfAborted();
        checkedSecrets[at] = await check(vaults, secrets[at] as SecretCoordinates, kill);
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, secrets.length) }, work));
    return { status: 'SUCCESS', checkedSecrets };
  };
}

async function check(
  vaults: Vaults,
  { secretName, secretKey, ...place }: SecretCoordinates,
  signal: AbortSignal,
): Promise<SecretState> {
  const vault = vaults.find(place);
  if (vault === undefined) return { finding: 'NO_SUCH_VAULT', message: 'this agent has no such vault' };
  try {
    const exists = await vault.exists({ name: secretName, key: secretKey }, signal);
    if (exists) return { finding: 'RESOLVED' };
    return { finding: 'NOT_FOUND', message: 'the vault has no such secret or key' };
  } catch (error) {
    const finding = error instanceof VaultError ? findingOf[error.fault] : 'UNAVAILABLE';
    return { finding, message: getReason(error).slice(0, messageLimit) };
  }
}
