/** What a connection says of a PostgreSQL server. */
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Secret, WarehouseConnectionValues } from '@headgate/contract';

type Properties = WarehouseConnectionValues['properties'];

/** The properties of a credential. */
export interface CredentialProperties {
  username: string;
  password: string;
}

export interface PostgresAccess {
  /** Of the connection, for messages. */
  name: string;
  host: string;
  port: number;
  username: string;
  password: Secret;
  /** Where both are from. */
  credential: CredentialProperties;
  database: string;
  /** Undefined: that of the role. */
  schema: string | undefined;
  /** False: without TLS. */
  tls: ConnectionOptions | false;
}

const runCredential: CredentialProperties = { username: 'username', password: 'password' };
const readingCredential: CredentialProperties = { username: 'readUsername', password: 'readPassword' };

const sslModes = ['disable', 'require', 'verify-full'] as const;

/** The PostgreSQL cluster of the control plane, once it is known. No connection of a tenant may reach it. */
export interface RefusedCluster {
  systemIdentifier?: string;
}

/** Where names without a schema are. */
export interface DefaultPlace {
  database: string;
  schema: string;
}

/** @throws Error that names the property */
export function readDefaultPlace({ name, properties }: WarehouseConnectionValues): DefaultPlace {
  const read = (property: string) => readValue(name, properties, property);
  return { database: read('database') ?? '', schema: read('schema') ?? 'public' };
}

/** @throws Error that names the property and the remedy, or that a secret cannot be read */
export async function readPostgresAccess(
  { name, properties }: WarehouseConnectionValues,
  readSecret: (name: string, key?: string) => Promise<Secret>,
  standardPort: number,
  credential = runCredential,
): Promise<PostgresAccess> {
  const require = (property: string, what: string): string => {
    const value = readValue(name, properties, property);
    if (value === undefined)
      throw new Error(`the connection "${name}" has no "${property}": set it to ${what}`);
    return value;
  };
  const secret = async (property: string): Promise<Secret | undefined> => {
    const input = properties[property];
    return input !== undefined && 'secretName' in input
      ? readSecret(input.secretName, input.secretKey)
      : undefined;
  };
  const host = readHost(name, require('host', 'the host name or address of the server'));
  const password = await secret(credential.password);
  if (password === undefined)
    throw new Error(
      `the connection "${name}" has no "${credential.password}": set it to a secret reference, as in {"secretName": "warehouse-password"}`,
    );
  // A user name may be kept with its password.
  const username =
    (await secret(credential.username))?.reveal() ?? require(credential.username, 'the role to sign in as');
  const certificate =
    (await secret('sslRootCertificate'))?.reveal() ?? readValue(name, properties, 'sslRootCertificate');
  const mode = readValue(name, properties, 'sslMode');
  return {
    name,
    host,
    port: readPort(name, readValue(name, properties, 'port'), standardPort),
    username,
    password,
    credential,
    database: require('database', 'the database to connect to'),
    schema: readValue(name, properties, 'schema'),
    tls: readTls(name, host, mode, certificate),
  };
}

export const hasReadingCredential = ({ properties }: WarehouseConnectionValues): boolean =>
  Object.values(readingCredential).some((property) => properties[property] !== undefined);

/** Of the credential for queries and reads of tables. @throws Error that says how to set it, or as above */
export async function readReadingAccess(
  connection: WarehouseConnectionValues,
  readSecret: (name: string, key?: string) => Promise<Secret>,
  standardPort: number,
): Promise<PostgresAccess> {
  if (!hasReadingCredential(connection))
    throw new Error(
      `the connection "${connection.name}" has no credential for reading, and queries may not use that of the runs: create a role that can only read, and set "readUsername" and "readPassword" of the connection`,
    );
  return readPostgresAccess(connection, readSecret, standardPort, readingCredential);
}

/** Undefined if it is not set. @throws Error if it is a secret */
function readValue(name: string, properties: Properties, property: string): string | undefined {
  const input = properties[property];
  if (input === undefined) return undefined;
  if ('secretName' in input)
    throw new Error(
      `the property "${property}" of the connection "${name}" is a secret: write it as {"value": "…"}`,
    );
  const text = String(input.value).trim();
  return text === '' ? undefined : text;
}

function readHost(name: string, host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) > 0 || /^(?!-)[\w-]{1,63}(?:\.[\w-]{1,63})*\.?$/.test(bare)) return bare;
  throw new Error(
    `the host ${JSON.stringify(host)} of the connection "${name}" is not a host name: write it without scheme and port, such as db.example.com`,
  );
}

function readPort(name: string, text: string | undefined, standard: number): number {
  if (text === undefined) return standard;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new Error(`the port ${JSON.stringify(text)} of the connection "${name}" is not from 1 to 65535`);
}

export const isLoopback = (host: string) =>
  host.toLowerCase() === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function readTls(
  name: string,
  host: string,
  written: string | undefined,
  certificate: string | undefined,
): ConnectionOptions | false {
  const mode = written?.toLowerCase() ?? (isLoopback(host) ? 'disable' : 'verify-full');
  if (!sslModes.some((each) => each === mode))
    throw new Error(
      `the sslMode ${JSON.stringify(written)} of the connection "${name}" is not known: use one of ${sslModes.join(', ')}`,
    );
  if (mode === 'disable') return false;
  return {
    // The client connects to a judged address, so that the name to verify is given here.
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: mode === 'verify-full',
    ...(certificate === undefined ? {} : { ca: certificate }),
  };
}
