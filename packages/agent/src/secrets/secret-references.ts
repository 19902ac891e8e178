/** The secrets that a run names: where each is kept the server tells, and what it is the vault. The value goes to the run and nowhere else. */
import type { Secret, SecretCoordinates } from '@headgate/contract';
import { type Backoff, createBackoff, retry } from '../backoff.ts';
import { getReason } from '../log.ts';
import { type ControlPlane, ControlPlaneError, isTransient } from '../session/control-plane.ts';
import type { WorkKey } from '../session/outbox.ts';
import { findNamedVault } from '../vaults/named-vault.ts';
import type { Vaults } from '../vaults/registry.ts';

/** A server that is away for longer, half a minute or so, fails the step that names the secret. */
const lookupAttempts = 8;

export interface SecretReferences {
  /** @throws Error whose message names the reference and the vault, and may be shown. */
  read(work: WorkKey, name: string, signal: AbortSignal): Promise<Secret>;
}

export interface SecretReferencesOptions {
  controlPlane: Pick<ControlPlane, 'secretReference'>;
  instanceId: string;
  vaults: Vaults;
  backoff?: () => Backoff;
}

export function createSecretReferences(options: SecretReferencesOptions): SecretReferences {
  return {
    async read(work, name, signal) {
      const about = `the secret reference ${JSON.stringify(name)}`;
      const at = await lookUp(options, work, name, signal).catch((error) => {
        throw new Error(`${about} cannot be looked up: ${explainFailure(error)}`);
      });
      return readSecret(options.vaults, at, signal).catch((error) => {
        throw new Error(`${about} (${describe(at)}) cannot be read: ${getReason(error)}`);
      });
    },
  };
}

/** @throws VaultError, and Error when there is no such vault; neither holds the value. */
export async function readSecret(
  vaults: Vaults,
  { secretName, secretKey, ...place }: SecretCoordinates,
  signal: AbortSignal,
): Promise<Secret> {
  return findNamedVault(vaults, place).read({ name: secretName, key: secretKey }, signal);
}

function lookUp(
  { controlPlane, instanceId, backoff }: SecretReferencesOptions,
  { workId, epoch }: WorkKey,
  name: string,
  signal: AbortSignal,
): Promise<SecretCoordinates> {
  const body = { instanceId, workId, epoch, name };
  return retry(() => controlPlane.secretReference(body, signal), {
    limit: lookupAttempts,
    signal,
    again: isTransient,
    backoff: backoff?.() ?? createBackoff(),
  });
}

function explainFailure(error: unknown): string {
  const isOlder =
    error instanceof ControlPlaneError && error.status === 404 && error.code === 'path-not-found';
  return isOlder
    ? 'the server is of a version that does not know secrets in runs yet: upgrade it'
    : getReason(error);
}

function describe({ secretName, secretKey }: SecretCoordinates): string {
  const key = secretKey === undefined ? '' : `, key ${JSON.stringify(secretKey)}`;
  return `secret ${JSON.stringify(secretName)}${key}`;
}
