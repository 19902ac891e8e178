/** What a connection says of a Snowflake account. */
import { isIP } from 'node:net';
import type { Secret, WarehouseConnectionValues } from '@headgate/contract';
import { readSnowflakeName } from '@headgate/contract/without-schemas';
import { type DefaultPlace, isLoopback } from '../postgres/postgres-access.ts';

type Properties = WarehouseConnectionValues['properties'];

/** The properties of a credential. */
export interface KeyProperties {
  username: string;
  privateKey: string;
  passphrase: string;
  role: string;
}

export interface SnowflakeAccess {
  /** Of the connection, for messages. */
  name: string;
  /** Without region, as in the key pair's token. */
  account: string;
  /** Of the account's requests. Plain http on the agent's own machine only. */
  origin: URL;
  username: string;
  /** PEM, perhaps with a passphrase. */
  privateKey: Secret;
  passphrase: Secret | undefined;
  /** Where they are from. */
  credential: KeyProperties;
  /** The names as Snowflake keeps them. Undefined: the default of the user. */
  role: string | undefined;
  warehouse: string | undefined;
  database: string | undefined;
  schema: string | undefined;
  timeZone: string;
}

const runKey: KeyProperties = {
  username: 'username',
  privateKey: 'privateKey',
  passphrase: 'passphrase',
  role: 'role',
};
const readingKey: KeyProperties = {
  username: 'readUsername',
  privateKey: 'readPrivateKey',
  passphrase: 'readPassphrase',
  role: 'readRole',
};

const defaultTimeZone = 'UTC';

/** @throws Error that names the property */
export function readSnowflakePlace({ name, properties }: WarehouseConnectionValues): DefaultPlace {
  const read = (property: string) => readName(readValue(name, properties, property));
  return { database: read('database') ?? '', schema: read('schema') ?? 'PUBLIC' };
}

/** @throws Error that names the property and the remedy, or that a secret cannot be read */
export async function readSnowflakeAccess(
  { name, properties }: WarehouseConnectionValues,
  readSecret: (name: string, key?: string) => Promise<Secret>,
  credential = runKey,
): Promise<SnowflakeAccess> {
  const read = (property: string) => readValue(name, properties, property);
  const require = (property: string, what: string): string => {
    const value = read(property);
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
  const account = require('account', 'the identifier of the account, such as myorg-myaccount');
  const origin = readOrigin(name, account, read('host'));
  const privateKey = await secret(credential.privateKey);
  if (privateKey === undefined)
    throw new Error(
      `the connection "${name}" has no "${credential.privateKey}": set it to a secret reference, as in {"secretName": "warehouse-key"}`,
    );
  const username =
    (await secret(credential.username))?.reveal() ?? require(credential.username, 'the user to sign in as');
  return {
    name,
    account: readTokenAccount(account),
    origin,
    username,
    privateKey,
    passphrase: await secret(credential.passphrase),
    credential,
    role: readName(read(credential.role)),
    warehouse: readName(read('warehouse')),
    database: readName(read('database')),
    schema: readName(read('schema')),
    timeZone: readTimeZone(name, read('timeZone')),
  };
}

export const hasReadingKey = ({ properties }: WarehouseConnectionValues): boolean =>
  Object.values(readingKey).some((property) => properties[property] !== undefined);

/** Of the credential for queries and reads of tables. @throws Error that says how to set it, or as above */
export async function readReadingAccess(
  connection: WarehouseConnectionValues,
  readSecret: (name: string, key?: string) => Promise<Secret>,
): Promise<SnowflakeAccess> {
  if (!hasReadingKey(connection))
    throw new Error(
      `the connection "${connection.name}" has no credential for reading, and queries may not use that of the runs: create a user whose role can only read, and set "readUsername", "readPrivateKey" and "readRole" of the connection`,
    );
  return readSnowflakeAccess(connection, readSecret, readingKey);
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

const readName = (written: string | undefined) =>
  written === undefined ? undefined : readSnowflakeName(written);

/** The locator or the name, without region and cloud, in upper case. */
function readTokenAccount(account: string): string {
  const [first = ''] = account.split('.');
  const isGlobal = account.toLowerCase().includes('.global');
  return (isGlobal ? first.slice(0, first.lastIndexOf('-')) : first).toUpperCase();
}

const accountForm = /^(?!-)[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}$/;

function readOrigin(name: string, account: string, host: string | undefined): URL {
  if (!accountForm.test(account))
    throw new Error(
      `the account ${JSON.stringify(account)} of the connection "${name}" is not an identifier of an account: write it without scheme and host, such as myorg-myaccount or xy12345.eu-central-1`,
    );
  const domain = /\.cn-\w+/.test(account.toLowerCase()) ? 'snowflakecomputing.cn' : 'snowflakecomputing.com';
  // Host names have no underscores.
  const written = host ?? `${account.toLowerCase().replaceAll('_', '-')}.${domain}`;
  const secure = URL.parse(`https://${written}`);
  const isHost =
    secure !== null && [secure.pathname, secure.search, secure.hash, secure.username].join('') === '/';
  if (!isHost || /[/?#@\\]/.test(written))
    throw new Error(
      `the host ${JSON.stringify(written)} of the connection "${name}" is not a host name: write it without scheme, such as myorg-myaccount.snowflakecomputing.com`,
    );
  const bare = secure.hostname.replace(/^\[(.*)\]$/, '$1');
  return isLoopback(bare) && (isIP(bare) > 0 || bare === 'localhost') ? new URL(`http://${written}`) : secure;
}

function readTimeZone(name: string, zone: string | undefined): string {
  if (zone === undefined) return defaultTimeZone;
  if (Intl.supportedValuesOf('timeZone').includes(zone) || zone === defaultTimeZone) return zone;
  throw new Error(
    `the timeZone ${JSON.stringify(zone)} of the connection "${name}" is not known: use a name of the IANA database, such as Europe/Berlin`,
  );
}
