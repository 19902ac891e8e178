/**
 * Reads the secrets of a run: the server knows the place, the vault the value. The value goes only to the
 * run.
 */
import type { Secret, SecretCoordinates } from '@headgate/contract';
import { type Backoff, createBackoff, retry } from '../backoff.ts';
import { getReason } from '../log.ts';
import { type ControlPlane, ControlPlaneError, isTransient } from '../session/control-plane.ts';
import type { WorkKey } from '../session/outbox.ts';
import { findNamedVault } from '../vaults/named-vault.ts';
import type { Vaults } from '../vaults/registry.ts';

/** Attempts over about half a minute. After that, the step that needs the secret fails. */
const lookupAttempts = 8;

export interface SecretReferences {
  /**
   * @param key selects a value of a secret of which the reference names no key
   * @param onFound gets where the secret is
   * @throws Error that names the reference and the vault, and does not contain the value.
   */
  read(
    work: WorkKey,
    name: string,
    signal: AbortSignal,
    key?: string,
    onFound?: (at: SecretCoordinates) => void,
  ): Promise<Secret>;
  /** The secret of the connection of the work's environment to a cloud: `aws`, `azure` or `gcp`. @throws as `read` */
  readCloud(work: WorkKey, cloud: string, signal: AbortSignal): Promise<Secret>;
}

export interface SecretReferencesOptions {
  controlPlane: Pick<ControlPlane, 'secretReference'>;
  instanceId: string;
  vaults: Vaults;
  backoff?: () => Backoff;
}

export function createSecretReferences(options: SecretReferencesOptions): SecretReferences {
  return {
    async readCloud(work, cloud, signal) {
      const about = `the project's connection to ${cloud}`;
      const found = await lookUp(options, work, { name: cloud, cloud }, signal).catch((error) => {
        // A server of an earlier version takes it for the name of a secret reference.
        if (hasCode(error, 'cloud-connection-not-found') || hasCode(error, 'secret-reference-not-found'))
          throw new Error(
            `the project has no connection to ${cloud}: create one of the type CLOUD_PLATFORM_CREDENTIALS, or name a secret reference in "credentials"`,
          );
        throw new Error(`${about} cannot be looked up: ${explainFailure(error)}`);
      });
      return readSecret(options.vaults, found, signal).catch((error) => {
        throw new Error(`${about} (${describe(found)}) cannot be read: ${getReason(error)}`);
      });
    },
    async read(work, name, signal, key, onFound) {
      const about = `the secret reference ${JSON.stringify(name)}`;
      const found = await lookUp(options, work, { name }, signal).catch((error) => {
        if (hasCode(error, 'secret-reference-not-found'))
          throw new Error(`${about} does not exist in the project: create it or correct the name`);
        throw new Error(`${about} cannot be looked up: ${explainFailure(error)}`);
      });
      const { secretKey = key } = found;
      // The reference gives a project one value of a secret. The author of a pipeline must not choose another one.
      if (key !== undefined && secretKey !== key)
        throw new Error(
          `${about} is for the key ${JSON.stringify(secretKey)}, not for ${JSON.stringify(key)}: leave secretKey out, or create a secret reference for that key`,
        );
      const at = secretKey === undefined ? found : { ...found, secretKey };
      onFound?.(at);
      return readSecret(options.vaults, at, signal).catch((error) => {
        throw new Error(`${about} (${describe(at)}) cannot be read: ${getReason(error)}`);
      });
    },
  };
}

/** @throws VaultError, or Error if there is no such vault. Neither contains the value. */
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
  sought: { name: string; cloud?: string },
  signal: AbortSignal,
): Promise<SecretCoordinates> {
  const body = { instanceId, workId, epoch, ...sought };
  return retry(() => controlPlane.secretReference(body, signal), {
    limit: lookupAttempts,
    signal,
    again: isTransient,
    backoff: backoff?.() ?? createBackoff(),
  });
}

function explainFailure(error: unknown): string {
  return hasCode(error, 'path-not-found')
    ? 'this version of the server does not support secrets in runs: upgrade the server'
    : getReason(error);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof ControlPlaneError && error.code === code;
}

function describe({ secretName, secretKey }: SecretCoordinates): string {
  const key = secretKey === undefined ? '' : `, key ${JSON.stringify(secretKey)}`;
  return `secret ${JSON.stringify(secretName)}${key}`;
}
