/**
 * Azure Key Vault through its SDK, which is loaded at first use. Uses Azure's standard chain of credentials.
 */
import type * as Identity from '@azure/identity';
import type * as Sdk from '@azure/keyvault-secrets';
import { callWithTimeout } from './call-with-timeout.ts';
import { createTextVault } from './text-vault.ts';
import { type Vault, VaultError, type VaultFault } from './vault.ts';

export interface AzureVaultOptions {
  name: string;
  /** Such as `https://north.vault.azure.net`. */
  address: string;
  /** The token authority of a sovereign cloud, such as `https://login.chinacloudapi.cn`. */
  authority?: string | undefined;
  /** Prefix of all secret names, such as `headgate-`. */
  prefix: string;
}

/** The names that Key Vault allows. They are not case-sensitive. */
const nameForm = /^[0-9A-Za-z-]{1,127}$/;
/** All attempts of a call end well within its time limit. */
const retryOptions = { maxRetries: 2, retryDelayInMs: 200, maxRetryDelayInMs: 2_000 };

const faults: Readonly<Record<number, VaultFault>> = {
  400: 'invalid',
  401: 'denied',
  403: 'denied',
  404: 'not-found',
  408: 'timeout',
  413: 'invalid',
  429: 'throttled',
  504: 'timeout',
};

export function createAzureVault({ name: vaultName, address, authority, prefix }: AzureVaultOptions): Vault {
  let opened: Promise<Sdk.SecretClient> | undefined;

  async function open(): Promise<Sdk.SecretClient> {
    const [sdk, identity] = await load(vaultName);
    // An authority from the settings is not looked up in the directory of public Azure.
    const other = authority === undefined ? {} : { authorityHost: authority, disableInstanceDiscovery: true };
    const credential = new identity.DefaultAzureCredential({ ...other, retryOptions });
    return new sdk.SecretClient(address, credential, { retryOptions });
  }

  function call<Result>(
    name: string,
    signal: AbortSignal,
    work: (client: Sdk.SecretClient, abortSignal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (!nameForm.test(name))
      throw new VaultError('invalid', vaultName, 'names may contain only letters, digits and hyphens');
    opened ??= open();
    const client = opened;
    return callWithTimeout(
      { signal, vaultName },
      async (abortSignal) => work(await client, abortSignal),
      (error) => createVaultError(error, vaultName),
    );
  }

  return createTextVault(vaultName, {
    prefix,
    valueBytes: 25_000,
    async read(name, signal) {
      const { value } = await call(name, signal, (client, abortSignal) =>
        client.getSecret(name, { abortSignal }),
      );
      if (value === undefined) throw new VaultError('not-found', vaultName);
      return value;
    },
    async put(name, text, signal) {
      await call(name, signal, (client, abortSignal) =>
        client.setSecret(name, text.reveal(), { abortSignal }),
      );
      return `${address}/secrets/${name}`;
    },
    // Readers no longer see it at once. Its name can be used again after it was purged.
    remove: (name, signal) =>
      call(name, signal, (client, abortSignal) => client.beginDeleteSecret(name, { abortSignal })),
  });
}

async function load(vaultName: string): Promise<[typeof Sdk, typeof Identity]> {
  try {
    return await Promise.all([import('@azure/keyvault-secrets'), import('@azure/identity')]);
  } catch {
    throw new VaultError('unavailable', vaultName, 'install @azure/keyvault-secrets and @azure/identity');
  }
}

interface AzureError {
  name?: string;
  statusCode?: number;
  code?: string;
  details?: { error?: { innerError?: { code?: string } } };
}

function createVaultError(error: unknown, vaultName: string): VaultError {
  const { name = '', statusCode = 0, code, details } = (error ?? {}) as AzureError;
  const reported = details?.error?.innerError?.code ?? code ?? name;
  const hint = /^\w{1,60}$/.test(reported) && reported !== 'Error' ? reported : undefined;
  return new VaultError(findFault(name, statusCode, reported), vaultName, hint);
}

function findFault(name: string, statusCode: number, reported: string): VaultFault {
  if (/^ObjectIs(BeingDeleted|DeletedButRecoverable)$/.test(reported)) return 'being-deleted';
  if (reported === 'SecretDisabled') return 'disabled';
  // Errors of the credential library, with any status.
  if (/^(AggregateAuthentication|Authentication|CredentialUnavailable)Error$/.test(name)) return 'denied';
  if (/^(AbortError|TimeoutError)$/.test(name)) return 'timeout';
  return faults[statusCode] ?? 'unavailable';
}
