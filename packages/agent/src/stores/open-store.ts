/** Opens an object store with its credentials, which only the agent's own process has. */

import type { Egress } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { ConnectorError, cloudOf, PermanentFault, type StoreAddress } from '@headgate/pipelines';
import type { Exchange } from '../connectors/exchange.ts';
import { type MachineRole, requireRoleEndpoint, requireRoleUrl } from './machine-role.ts';
import type { ObjectStore } from './object-store.ts';
import { createS3Store } from './s3-store.ts';
import type { AccessKey } from './sigv4.ts';
import type { StoreTime } from './store-calls.ts';

export interface StoreSecrets {
  readSecret(name: string): Promise<Secret>;
  /** Of the project's connection to a cloud. */
  readCloudSecret(cloud: string): Promise<Secret>;
  /** Called with each value before it is used, so that it can be masked. */
  onValue(value: Secret): void;
}

export interface OpenStoreOptions {
  exchange: Exchange;
  egress: Egress;
  secrets: StoreSecrets;
  /** The machine's role; undefined if the operator does not allow it. */
  machine: (MachineRole & { readKey(): Promise<AccessKey> }) | undefined;
  time: StoreTime;
}

/** @throws ConnectorError, PermanentFault */
export async function openStore(address: StoreAddress, options: OpenStoreOptions): Promise<ObjectStore> {
  const { exchange, time } = options;
  if (address.kind === 'sftp') {
    const { openSftpStore } = await import('./sftp/open-sftp-store.ts');
    return openSftpStore(address, options);
  }
  if (address.kind === 'azure') {
    const { createAzureStore } = await import('./azure-store.ts');
    const credentials = await readMembers(address, options);
    return createAzureStore({ address, credentials, exchange, time });
  }
  const { machine } = options;
  const isRole = address.credentials.from === 'machine' && machine !== undefined;
  return createS3Store({
    ...{ address, readKey: await createKeyReader(address, options), exchange, time },
    ...(isRole ? { requireUrl: (url: URL) => requireRoleUrl(url, machine) } : {}),
  });
}

type CloudAddress = Exclude<StoreAddress, { kind: 'sftp' }>;

async function createKeyReader(
  address: CloudAddress,
  options: OpenStoreOptions,
): Promise<(() => Promise<AccessKey>) | undefined> {
  const { from } = address.credentials;
  if (from === 'nobody') return undefined;
  if (from === 'machine') {
    const { machine } = options;
    if (machine !== undefined && address.kind === 's3') {
      requireRoleEndpoint(address, machine);
      return machine.readKey;
    }
    throw new PermanentFault(
      address.kind === 's3'
        ? 'the operator of the agent does not allow the role of its machine: set HEADGATE_AGENT_MACHINE_ROLE=yes, or name credentials'
        : 'Google Storage is reached by HMAC keys: set "authentication" to Credentials',
    );
  }
  const members = await readMembers(address, options);
  const key: AccessKey = {
    accessKeyId: requireMember(members, 'accessKeyId', address),
    secretAccessKey: requireMember(members, 'secretAccessKey', address),
    ...(members?.sessionToken === undefined || members.sessionToken === ''
      ? {}
      : { sessionToken: members.sessionToken }),
  };
  return async () => key;
}

const secretLength = 8;

type Members = Readonly<Record<string, string>>;

/** The members of the secret; undefined if the store is public. */
async function readMembers(
  { kind, credentials }: CloudAddress,
  { secrets }: OpenStoreOptions,
): Promise<Members | undefined> {
  if (credentials.from === 'nobody') return undefined;
  if (credentials.from === 'machine')
    throw new PermanentFault('the role of the machine is for S3: set "authentication" to Credentials');
  const secret =
    credentials.from === 'reference'
      ? await secrets.readSecret(credentials.name)
      : await secrets.readCloudSecret(cloudOf[kind]);
  const members = parseMembers(secret.reveal());
  // Shorter values, such as the name of a region, are no secrets.
  for (const value of Object.values(members))
    if (value.length >= secretLength) secrets.onValue(new Secret(value));
  return members;
}

function parseMembers(text: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new PermanentFault(
      'the credentials are not a JSON object with members such as accessKeyId: write the secret with the type CLOUD_PLATFORM_CREDENTIALS',
    );
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, String(member ?? '')]));
}

function requireMember(members: Members | undefined, name: string, { kind }: CloudAddress): string {
  const value = members?.[name];
  if (value !== undefined && value !== '') return value;
  throw new ConnectorError(
    `the credentials have no "${name}", which ${kind === 's3' ? 'S3' : 'Google Storage, by its HMAC keys,'} needs: add it to the secret`,
  );
}
