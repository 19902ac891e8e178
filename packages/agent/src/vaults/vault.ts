/**
 * A store of secrets in the customer's network.
 *
 * Terminology
 *   name    of a secret in the vault
 *   key     of one value of a secret that has several: the secret is then a JSON object (in HashiCorp Vault, its data)
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
  /** By which an agent with this vault finds the value again; never the value. */
  resolverRef: string;
  vaultSecretName: string;
}

/** All calls throw VaultError. */
export interface Vault {
  /** Creates or replaces the secret; with a key only that value of it. */
  write(at: SecretAddress, value: Secret, signal: AbortSignal): Promise<WrittenSecret>;
  /** Throws `not-found`. */
  read(at: SecretAddress, signal: AbortSignal): Promise<Secret>;
  /** Whether it can be read, without its value leaving the vault's answer. */
  exists(at: SecretAddress, signal: AbortSignal): Promise<boolean>;
  /** The whole secret; one that is not there is no failure. */
  delete(name: string, signal: AbortSignal): Promise<void>;
}

export const vaultFaults = {
  'not-found': 'has no such secret or key',
  denied: 'refuses the agent: its credential is missing, expired, or lacks the right',
  throttled: 'has too many requests at the moment: send it again later',
  timeout: 'does not answer in time',
  unavailable: 'cannot be reached, or cannot serve at the moment',
  'being-deleted': 'holds this secret as scheduled for deletion: restore it, or wait until it is gone',
  disabled:
    'holds this secret with its newest version disabled or destroyed: enable it, or write it whole again',
  'not-keyed': 'holds this secret as one text without keys: write it without a key, or under another name',
  changed: 'changed this secret at the same time, again and again: send it again',
  invalid: 'does not take this name or value',
} as const;
export type VaultFault = keyof typeof vaultFaults;

/** Its message is for people and may be shown: it names the vault and what to do, and holds no secret and no words of the vault's own. */
export class VaultError extends Error {
  override name = 'VaultError';
  readonly fault: VaultFault;

  /** @param hint what the vault calls it: an error's name or a status, never its text. */
  constructor(fault: VaultFault, vaultName: string, hint?: string) {
    super(`the vault ${JSON.stringify(vaultName)} ${vaultFaults[fault]}${hint ? ` (${hint})` : ''}.`);
    this.fault = fault;
  }
}

/** How long one call to a vault may take, the library's own attempts included. */
export const vaultCallMilliseconds = 15_000;
