/**
 * AWS Secrets Manager through its SDK, which is loaded at first use. Uses AWS's standard chain of
 * credentials.
 */
import type * as Sdk from '@aws-sdk/client-secrets-manager';
import { createTextVault, ignoreNotFound } from './text-vault.ts';
import { type Vault, VaultError, type VaultFault, vaultCallMilliseconds } from './vault.ts';

export interface AwsVaultOptions {
  name: string;
  region: string;
  /** Replaces the endpoint of the region, for a private endpoint. */
  endpoint?: string | undefined;
  /** Prefix of all secret names, such as `headgate/`. */
  prefix: string;
}

/** Faults by the names of the SDK's errors. */
const faults: Readonly<Record<string, VaultFault>> = {
  ResourceNotFoundException: 'not-found',
  AccessDeniedException: 'denied',
  AccessDenied: 'denied',
  UnrecognizedClientException: 'denied',
  InvalidSignatureException: 'denied',
  InvalidClientTokenId: 'denied',
  ExpiredTokenException: 'denied',
  CredentialsProviderError: 'denied',
  EncryptionFailure: 'denied',
  DecryptionFailure: 'denied',
  ThrottlingException: 'throttled',
  TooManyRequestsException: 'throttled',
  LimitExceededException: 'throttled',
  TimeoutError: 'timeout',
  AbortError: 'timeout',
  InternalServiceError: 'unavailable',
  InvalidParameterException: 'invalid',
  ValidationException: 'invalid',
};

export function createAwsVault({ name: vaultName, region, endpoint, prefix }: AwsVaultOptions): Vault {
  let opened: Promise<{ sdk: typeof Sdk; client: Sdk.SecretsManagerClient }> | undefined;

  async function open() {
    const sdk = await import('@aws-sdk/client-secrets-manager').catch(() => {
      throw new VaultError('unavailable', vaultName, 'install @aws-sdk/client-secrets-manager');
    });
    const settings = endpoint === undefined ? { region } : { region, endpoint };
    return { sdk, client: new sdk.SecretsManagerClient(settings) };
  }

  async function call<Result>(
    signal: AbortSignal,
    work: (
      sdk: typeof Sdk,
      client: Sdk.SecretsManagerClient,
      options: { abortSignal: AbortSignal },
    ) => Promise<Result>,
  ): Promise<Result> {
    opened ??= open();
    const { sdk, client } = await opened;
    const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(vaultCallMilliseconds)]);
    try {
      return await work(sdk, client, { abortSignal });
    } catch (error) {
      throw createVaultError(error, vaultName);
    }
  }

  return createTextVault(vaultName, {
    prefix,
    valueBytes: 65_536,
    async read(name, signal) {
      const { SecretString: text } = await call(signal, (sdk, client, options) =>
        client.send(new sdk.GetSecretValueCommand({ SecretId: name }), options),
      );
      if (text === undefined) throw new VaultError('not-keyed', vaultName, 'it is binary');
      return text;
    },
    async put(name, text, signal) {
      const SecretString = text.reveal();
      const replaced = await call(signal, (sdk, client, options) =>
        client.send(new sdk.PutSecretValueCommand({ SecretId: name, SecretString }), options),
      ).catch(ignoreNotFound);
      const written =
        replaced ??
        (await call(signal, (sdk, client, options) =>
          client.send(new sdk.CreateSecretCommand({ Name: name, SecretString }), options),
        ));
      return written.ARN ?? `aws-secrets-manager://${region}/${name}`;
    },
    remove: (name, signal) =>
      call(signal, (sdk, client, options) =>
        client.send(new sdk.DeleteSecretCommand({ SecretId: name }), options),
      ),
  });
}

function createVaultError(error: unknown, vaultName: string): VaultError {
  if (error instanceof VaultError) return error;
  const { name = '', message = '' } = error instanceof Error ? error : {};
  // AWS uses this name for several states of a secret; only the text distinguishes them.
  if (name === 'InvalidRequestException' && /deletion|deleted/i.test(message))
    return new VaultError('being-deleted', vaultName);
  const hint = /^\w{1,60}$/.test(name) && name !== 'Error' ? name : undefined;
  const fault = faults[name] ?? (name === 'InvalidRequestException' ? 'invalid' : 'unavailable');
  return new VaultError(fault, vaultName, hint);
}
