/** Azure Key Vault by its SDK, which is loaded when the vault is first used. Credentials are found as Azure's own tools find them. */
import type * as Identity from '@azure/identity';
import type * as Sdk from '@azure/keyvault-secrets';
import { callWithTimeout } from './call-with-timeout.ts';
import { createTextVault } from './text-vault.ts';
import { type Vault, VaultError, type VaultFault } from './vault.ts';

export interface AzureVaultOptions {
  name: string;
  /** As `https://north.vault.azure.net`. */
  address: string;
  /** Where tokens come from in another cloud than Azure's public one, as `https://login.chinacloudapi.cn`. */
  authority?: string | undefined;
  /** Before the name of every secret, as `headgate-`. */
  prefix: string;
}

/** Key Vault takes no other names, and tells no capital letters from small ones. */
const nameForm = /^[0-9A-Za-z-]{1,127}$/;
/** Of one call, so that all attempts end well within the bound of a call. */
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
    // An authority that the settings name is not looked up in the directory of Azure's own.
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
      throw new VaultError('invalid', vaultName, 'names there have letters, digits and hyphens only');
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
    // For its readers it is gone at once; its name is free when it was purged.
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
  const said = details?.error?.innerError?.code ?? code ?? name;
  const hint = /^\w{1,60}$/.test(said) && said !== 'Error' ? said : undefined;
  return new VaultError(findFault(name, statusCode, said), vaultName, hint);
}

function findFault(name: string, statusCode: number, said: string): VaultFault {
  if (/^ObjectIs(BeingDeleted|DeletedButRecoverable)$/.test(said)) return 'being-deleted';
  if (said === 'SecretDisabled') return 'disabled';
  // What the credential's library throws, whatever the status behind it.
  if (/^(AggregateAuthentication|Authentication|CredentialUnavailable)Error$/.test(name)) return 'denied';
  if (/^(AbortError|TimeoutError)$/.test(name)) return 'timeout';
  return faults[statusCode] ?? 'unavailable';
}
