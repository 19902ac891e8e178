/**
 * Google Secret Manager through its SDK over HTTPS, loaded at first use. Uses Google's default credentials.
 */
import { isUtf8 } from 'node:buffer';
import type * as Sdk from '@google-cloud/secret-manager';
import { createBackoff, retry } from '../backoff.ts';
import { callWithTimeout } from './call-with-timeout.ts';
import { createTextVault, ignoreNotFound } from './text-vault.ts';
import { type Vault, VaultError, type VaultFault } from './vault.ts';

export interface GoogleVaultOptions {
  name: string;
  /** The project's id or number. */
  project: string;
  /** Replaces the default endpoint, such as `https://secretmanager.europe-west3.rep.googleapis.com`. */
  endpoint?: string | undefined;
  /** The only region for new secrets; by default Google chooses. */
  location?: string | undefined;
  /** Prefix of all secret names, such as `headgate-`. */
  prefix: string;
}

type Client = Sdk.SecretManagerServiceClient;
interface CallOptions {
  timeout: number;
  signal: AbortSignal;
  retry: { retryCodes: number[] };
}

/** The names that Secret Manager allows. */
const nameForm = /^[\w-]{1,255}$/;

/** Codes of gRPC, which the SDK also uses over HTTPS. */
const codes = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;
const faults: Readonly<Record<number, VaultFault>> = {
  [codes.invalidArgument]: 'invalid',
  [codes.deadlineExceeded]: 'timeout',
  [codes.notFound]: 'not-found',
  [codes.permissionDenied]: 'denied',
  [codes.resourceExhausted]: 'throttled',
  [codes.failedPrecondition]: 'invalid',
  [codes.unauthenticated]: 'denied',
};

/** The SDK's retries hide the reason behind a timeout, so they are disabled and done here. */
const retries = {
  limit: 3,
  again: (error: unknown) =>
    [codes.resourceExhausted, codes.unavailable].some((code) => code === getCode(error)),
};
const pauses = { firstMilliseconds: 250, limitMilliseconds: 1_000 };
const attemptMilliseconds = 5_000;

export function createGoogleVault(options: GoogleVaultOptions): Vault {
  const { name: vaultName, project, endpoint, location, prefix } = options;
  let opened: Promise<Client> | undefined;

  async function open(): Promise<Client> {
    const sdk = await import('@google-cloud/secret-manager').catch(() => {
      throw new VaultError('unavailable', vaultName, 'install @google-cloud/secret-manager');
    });
    const url = endpoint === undefined ? undefined : new URL(endpoint);
    const place = url && { apiEndpoint: url.hostname, port: Number(url.port || 443) };
    const client = new sdk.SecretManagerServiceClient({ fallback: true, projectId: project, ...place });
    // Initialize here: a call without a credential would cause an unhandled rejection inside the SDK.
    await client.initialize().catch(() => {
      throw new VaultError('denied', vaultName, 'no Google credential was found');
    });
    return client;
  }

  function getClient(): Promise<Client> {
    opened ??= open();
    const client = opened;
    // After a failure, the next call looks for a credential again.
    client.catch(() => {
      opened = undefined;
    });
    return client;
  }

  const getPath = (name: string) => `projects/${project}/secrets/${name}`;

  function call<Result>(
    name: string,
    signal: AbortSignal,
    work: (client: Client, path: string, options: CallOptions) => Promise<Result>,
  ): Promise<Result> {
    if (!nameForm.test(name))
      throw new VaultError('invalid', vaultName, 'names may contain only letters, digits, hyphens and _');
    const client = getClient();
    return callWithTimeout(
      { signal, vaultName },
      async (abortSignal) => {
        const callOptions = { timeout: attemptMilliseconds, signal: abortSignal, retry: { retryCodes: [] } };
        const ready = await client;
        const again = { ...retries, signal: abortSignal, backoff: createBackoff(pauses) };
        return retry(() => work(ready, getPath(name), callOptions), again);
      },
      (error) => createVaultError(error, vaultName),
    );
  }

  const create = (secretId: string, signal: AbortSignal) =>
    call(secretId, signal, async (client, _, callOptions) => {
      const replication =
        location === undefined ? { automatic: {} } : { userManaged: { replicas: [{ location }] } };
      const request = { parent: `projects/${project}`, secretId, secret: { replication } };
      await client.createSecret(request, callOptions).catch((error: unknown) => {
        // Another client has created it meanwhile. The new version can still be added.
        if (getCode(error) !== codes.alreadyExists) throw error;
      });
    });

  return createTextVault(vaultName, {
    prefix,
    valueBytes: 65_536,
    async read(name, signal) {
      const [{ payload }] = await call(name, signal, (client, path, callOptions) =>
        client.accessSecretVersion({ name: `${path}/versions/latest` }, callOptions),
      );
      const data = Buffer.from(payload?.data ?? '');
      if (!isUtf8(data)) throw new VaultError('not-keyed', vaultName, 'it is binary');
      return data.toString('utf8');
    },
    async put(name, text, signal) {
      const payload = { data: Buffer.from(text.reveal()) };
      const add = () =>
        call(name, signal, (client, parent, callOptions) =>
          client.addSecretVersion({ parent, payload }, callOptions),
        );
      if ((await add().catch(ignoreNotFound)) === undefined) {
        await create(name, signal);
        await add();
      }
      return `//secretmanager.googleapis.com/${getPath(name)}`;
    },
    remove: (name, signal) =>
      call(name, signal, (client, path, callOptions) => client.deleteSecret({ name: path }, callOptions)),
  });
}

function getCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function createVaultError(error: unknown, vaultName: string): VaultError {
  const code = getCode(error);
  const message = error instanceof Error ? error.message : '';
  // A missing credential has no code of gRPC; a refused one has the HTTP status of the token endpoint.
  if (/default credentials|invalid_grant|invalid_client/i.test(message) || code === 401 || code === 403)
    return new VaultError('denied', vaultName);
  if (code === codes.failedPrecondition && /\b(DISABLED|DESTROYED)\b/i.test(message))
    return new VaultError('disabled', vaultName);
  const known = Object.entries(codes).find(([, value]) => value === code)?.[0];
  return new VaultError(faults[Number(code)] ?? 'unavailable', vaultName, known);
}
