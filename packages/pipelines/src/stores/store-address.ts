/**
 * Object stores that pipelines name, and the places in them.
 *
 * - **store**: a bucket or a container, and how to reach it. It names its credentials and never holds them.
 * - **key**: the name of an object in its store, without a slash before it.
 */
import { ParameterError } from '../expressions/parameters.ts';

export type Cloud = 'aws' | 'azure' | 'gcp';

/** Where the agent reads the credentials of a store. */
export type StoreCredentials =
  /** A secret reference of the project, whose value is a JSON object. */
  | { readonly from: 'reference'; readonly name: string }
  /** The project's connection of the type CLOUD_PLATFORM_CREDENTIALS. */
  | { readonly from: 'connection'; readonly cloud: Cloud }
  /** The role of the machine, if the operator of the agent allows it. */
  | { readonly from: 'machine' }
  /** Anyone may read the store. */
  | { readonly from: 'nobody' };

interface StoreFrame {
  /** The address of a server of one's own, such as `https://minio.example.com:9000`. */
  readonly endpoint?: string;
  readonly credentials: StoreCredentials;
}

export type StoreAddress =
  | (StoreFrame & {
      readonly kind: 's3';
      readonly bucket: string;
      readonly region?: string;
      /** Whether the bucket is in the path of the address, and not in its host. */
      readonly pathStyle?: boolean;
    })
  | (StoreFrame & { readonly kind: 'gcs'; readonly bucket: string })
  | (StoreFrame & { readonly kind: 'azure'; readonly account: string; readonly container: string })
  | SftpAddress;

export interface SftpAddress extends StoreFrame {
  readonly kind: 'sftp';
  readonly host: string;
  readonly port: number;
  /** Undefined: the credentials have it. */
  readonly username?: string;
  /** Keys or fingerprints of keys, one of which the server must have. Undefined: the credentials have them. */
  readonly hostKey?: string;
}

export interface StorePlace {
  readonly store: StoreAddress;
  /** A key, or the beginning of keys; '' for all of the store. */
  readonly key: string;
}

export const cloudOf: Readonly<Record<Exclude<StoreAddress['kind'], 'sftp'>, Cloud>> = {
  s3: 'aws',
  gcs: 'gcp',
  azure: 'azure',
};

/** What a component says besides the address. */
export interface StoreAccess {
  readonly endpoint?: string;
  readonly region?: string;
  readonly pathStyle?: boolean;
  readonly hostKey?: string;
  /** Of an SFTP server. */
  readonly username?: string;
  credentials(cloud: Cloud): StoreCredentials;
}

const schemes = 's3|s3a|s3n|gs|gcs|azure|wasbs?|abfss?|sftp';
const addressPattern = new RegExp(`^(${schemes})://([^/]*)(?:/(.*))?$`, 'is');

/** Whether a text names a place in an object store. */
export const isStoreAddress = (text: string): boolean => addressPattern.test(text.trim());

const bucketPattern = /^[a-z0-9][a-z0-9._-]{1,221}$/;
const accountPattern = /^[a-z0-9]{3,24}$/;
const containerPattern = /^(?:\$root|\$web|[a-z0-9](?:-?[a-z0-9])*)$/;

/** @throws ParameterError that names the parameter */
export function readStorePlace(parameter: string, text: string, access: StoreAccess): StorePlace {
  const [, scheme = '', host = '', key = ''] = addressPattern.exec(text.trim()) ?? [];
  const fail = (why: string): never => {
    throw new ParameterError(`"${parameter}" is ${JSON.stringify(text)}: ${why}`);
  };
  checkKey(key, fail);
  const endpoint = access.endpoint === undefined ? {} : { endpoint: access.endpoint };
  switch (scheme.toLowerCase()) {
    case 's3':
    case 's3a':
    case 's3n':
      return {
        store: {
          ...{ kind: 's3', bucket: requireBucket(host, fail), ...endpoint },
          ...(access.region === undefined ? {} : { region: access.region }),
          ...(access.pathStyle === undefined ? {} : { pathStyle: access.pathStyle }),
          credentials: access.credentials('aws'),
        },
        key,
      };
    case 'gs':
    case 'gcs':
      return {
        store: {
          ...{ kind: 'gcs', bucket: requireBucket(host, fail), ...endpoint },
          credentials: access.credentials('gcp'),
        },
        key,
      };
    case 'sftp':
      return { store: readSftpServer(host, access, fail), key };
    case '':
      return fail('it is not the address of a store: write it as s3://bucket/folder/');
    default:
      return readAzurePlace(host, key, endpoint, access.credentials('azure'), fail);
  }
}

function requireBucket(host: string, fail: (why: string) => never): string {
  if (bucketPattern.test(host)) return host;
  return fail(
    'the name of a bucket has from 2 to 222 small letters, digits, dots, hyphens and underscores: write it as s3://bucket/folder/',
  );
}

/** `user@host:port`. */
function readSftpServer(host: string, access: StoreAccess, fail: (why: string) => never): SftpAddress {
  const url = URL.parse(`https://${host}`);
  if (url !== null && url.password !== '')
    return fail('an address must not have a password: write it to the vault, and name its secret reference');
  if (url === null || url.hostname === '')
    return fail('write it as sftp://user@host/folder/, with the port after the host if it is not 22');
  const named = host.includes('@') ? decodeName(url.username) : access.username;
  const credentials = access.credentials('aws');
  if (credentials.from !== 'reference')
    return fail(
      'set "credentials" to the secret reference of the password or the private key of the SFTP server',
    );
  return {
    ...{ kind: 'sftp', host: url.hostname, credentials },
    port: /:\d+$/.test(host) ? Number(/:(\d+)$/.exec(host)?.[1]) : 22,
    ...(named === undefined ? {} : { username: named }),
    ...(access.hostKey === undefined ? {} : { hostKey: access.hostKey }),
  };
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `azure://account.blob.core.windows.net/container/key`, or `wasbs://container@account.blob.core.windows.net/key`. */
function readAzurePlace(
  host: string,
  path: string,
  endpoint: { endpoint?: string },
  credentials: StoreCredentials,
  fail: (why: string) => never,
): StorePlace {
  const [before = '', after] = host.split('@');
  const slash = path.indexOf('/');
  const [first, rest] = slash < 0 ? [path, ''] : [path.slice(0, slash), path.slice(slash + 1)];
  const [container, key] = after === undefined ? [first, rest] : [before, path];
  const [account = '', ...domain] = (after ?? before).split('.');
  const isAzure = ['', 'blob.core.windows.net', 'dfs.core.windows.net'].includes(domain.join('.'));
  if (!isAzure || !accountPattern.test(account) || !containerPattern.test(container) || container.length > 63)
    return fail('write it as azure://account.blob.core.windows.net/container/folder/');
  return { store: { kind: 'azure', account, container, ...endpoint, credentials }, key };
}

/** Bytes of a key in S3, Azure Blob and Google Storage. */
const keyLimit = 1_024;

/** A path of an address has no segments `.` and `..`: they would name another object. */
function checkKey(key: string, fail: (why: string) => never): void {
  if (key.split('/').some((segment) => segment === '.' || segment === '..'))
    fail('the name of an object must not have a part "." or ".."');
  if (Buffer.byteLength(key) > keyLimit)
    fail(`the name of an object has at most ${keyLimit} bytes, and this one has ${Buffer.byteLength(key)}`);
}

/** Of a store, as messages and lineage name it: `s3://bucket`. */
export function nameStore(store: StoreAddress): string {
  if (store.kind === 'azure') return `azure://${store.account}.blob.core.windows.net/${store.container}`;
  if (store.kind === 'sftp') return `sftp://${store.host}${store.port === 22 ? '' : `:${store.port}`}`;
  return `${store.kind === 's3' ? 's3' : 'gs'}://${store.bucket}`;
}

export const nameObject = ({ store, key }: StorePlace): string => `${nameStore(store)}/${key}`;

/** Of a store in lineage, as OpenLineage names it. */
export function nameStoreInLineage(store: StoreAddress): string {
  if (store.kind !== 'azure') return nameStore(store);
  return `wasbs://${store.container}@${store.account}.blob.core.windows.net`;
}
