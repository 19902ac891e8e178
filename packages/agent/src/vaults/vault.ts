/**
 * A store of secrets in the customer's network.
 *
 * - **name**: the name of a secret in the vault.
 * - **key**: selects one value of a secret with several values. Such a secret is a JSON object, or the data
 *   of a secret in HashiCorp Vault.
 */
import type { Secret, VaultProvider } from '@headgate/contract';

export const vaultKinds = [
  'file',
  'aws-secrets-manager',
  'azure-key-vault',
  'google-secret-manager',
  'hashicorp-vault',
] as const;
export type VaultKind = (typeof vaultKinds)[number];

export const providerOf: Record<VaultKind, VaultProvider> = {
  file: 'HEADGATE',
  'aws-secrets-manager': 'AWS',
  'azure-key-vault': 'AZURE',
  'google-secret-manager': 'GCP',
  'hashicorp-vault': 'HASHICORP',
};

export interface SecretAddress {
  name: string;
  key?: string | undefined;
}

export interface WrittenSecret {
  /** The address of the value in the vault. Never the value itself. */
  resolverRef: string;
  vaultSecretName: string;
}

/** All calls throw VaultError. */
export interface Vault {
  /** Creates or replaces the secret, or only one value of it if a key is given. */
  write(at: SecretAddress, value: Secret, signal: AbortSignal): Promise<WrittenSecret>;
  /** Throws `not-found`. */
  read(at: SecretAddress, signal: AbortSignal): Promise<Secret>;
  /** Whether the secret can be read. The value is not passed on. */
  exists(at: SecretAddress, signal: AbortSignal): Promise<boolean>;
  /** Deletes the whole secret. A missing secret is not an error. */
  delete(name: string, signal: AbortSignal): Promise<void>;
}

export const vaultFaults = {
  'not-found': 'has no such secret or key',
  denied: 'refuses the agent: its credential is missing or expired, or lacks a permission',
  throttled: 'is throttling requests: try again later',
  timeout: 'did not answer in time',
  unavailable: 'cannot be reached or is not available',
  'being-deleted': 'has scheduled this secret for deletion: restore it, or wait until it is deleted',
  disabled:
    'has this secret with its latest version disabled or destroyed: enable it, or write the whole secret again',
  'not-keyed': 'has this secret as a text without keys: write it without a key, or under another name',
  changed: 'has concurrent writes to this secret: try again',
  invalid: 'does not accept this name or value',
} as const;
export type VaultFault = keyof typeof vaultFaults;

/**
 * The message is for users: it names the vault and the remedy, and contains no secret and no text of the
 * vault.
 */
export class VaultError extends Error {
  override name = 'VaultError';
  readonly fault: VaultFault;

  /** @param hint an error name or status from the vault, never its text */
  constructor(fault: VaultFault, vaultName: string, hint?: string) {
    super(`the vault ${JSON.stringify(vaultName)} ${vaultFaults[fault]}${hint ? ` (${hint})` : ''}.`);
    this.fault = fault;
  }
}

/** Time limit of one call to a vault, including the library's retries. */
export const vaultCallMilliseconds = 15_000;
