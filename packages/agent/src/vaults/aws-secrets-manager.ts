/** AWS Secrets Manager by its SDK, which is loaded when the vault is first used. Credentials are found as AWS's own tools find them. */
import type * as Sdk from '@aws-sdk/client-secrets-manager';
import { Secret } from '@headgate/contract';
import { addressText, valueUnder, withKey } from './keyed-secret.ts';
import { isNotFound, type Vault, VaultError, type VaultFault, vaultCallMilliseconds } from './vault.ts';

export interface AwsVaultOptions {
  name: string;
  region: string;
  /** In place of the region's own, for a private endpoint. */
  endpoint?: string | undefined;
  /** Before the name of every secret, as `headgate/`. */
  prefix: string;
}

/** The SDK's names of what can go wrong. */
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
      throw failureOf(error, vaultName);
    }
  }

  async function read(name: string, signal: AbortSignal): Promise<Secret> {
    const { SecretString: text } = await call(signal, (sdk, client, options) =>
      client.send(new sdk.GetSecretValueCommand({ SecretId: prefix + name }), options),
    );
    if (text === undefined) throw new VaultError('not-keyed', vaultName, 'it is binary');
    return new Secret(text);
  }

  const nothingOf = (error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  };

  async function put(name: string, text: Secret, signal: AbortSignal): Promise<string | undefined> {
    const SecretString = text.reveal();
    const replaced = await call(signal, (sdk, client, options) =>
      client.send(new sdk.PutSecretValueCommand({ SecretId: prefix + name, SecretString }), options),
    ).catch(nothingOf);
    if (replaced !== undefined) return replaced.ARN;
    const made = await call(signal, (sdk, client, options) =>
      client.send(new sdk.CreateSecretCommand({ Name: prefix + name, SecretString }), options),
    );
    return made.ARN;
  }

  async function find(
    { name, key }: { name: string; key?: string | undefined },
    signal: AbortSignal,
  ): Promise<Secret | undefined> {
    const secret = await read(name, signal).catch(nothingOf);
    return key === undefined || secret === undefined ? secret : valueUnder(secret, key);
  }

  return {
    async write({ name, key }, value, signal) {
      const before = key === undefined ? undefined : await read(name, signal).catch(nothingOf);
      const text = key === undefined ? value : withKey(before, key, value);
      if (text === undefined) throw new VaultError('not-keyed', vaultName);
      const arn = await put(name, text, signal);
      return {
        resolverRef: addressText(arn ?? `aws-secrets-manager://${region}/${prefix}${name}`, key),
        vaultSecretName: prefix + name,
      };
    },
    async read(at, signal) {
      const found = await find(at, signal);
      if (found === undefined) throw new VaultError('not-found', vaultName);
      return found;
    },
    exists: async (at, signal) => (await find(at, signal)) !== undefined,
    async delete(name, signal) {
      await call(signal, (sdk, client, options) =>
        client.send(new sdk.DeleteSecretCommand({ SecretId: prefix + name }), options),
      ).catch(nothingOf);
    },
  };
}

function failureOf(error: unknown, vaultName: string): VaultError {
  if (error instanceof VaultError) return error;
  const { name = '', message = '' } = error instanceof Error ? error : {};
  // One name for all that does not fit the secret's state; the text tells which.
  if (name === 'InvalidRequestException' && /deletion|deleted/i.test(message))
    return new VaultError('being-deleted', vaultName);
  const hint = /^\w{1,60}$/.test(name) && name !== 'Error' ? name : undefined;
  const fault = faults[name] ?? (name === 'InvalidRequestException' ? 'invalid' : 'unavailable');
  return new VaultError(fault, vaultName, hint);
}
