/** Reads the credentials of an SFTP server and opens it as a store. */
import type { Egress } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { nameStore, PermanentFault, type SftpAddress } from '@headgate/pipelines';
import type { StoreTime } from '../store-calls.ts';
import type { SftpServer } from './sftp-connection.ts';
import { createSftpStore } from './sftp-store.ts';

interface SftpStoreOptions {
  egress: Egress;
  secrets: {
    readSecret(name: string): Promise<Secret>;
    /** Called with each value before it is used, so that it can be masked. */
    onValue(value: Secret): void;
  };
  time: StoreTime;
}

/** @throws PermanentFault about the credentials */
export async function openSftpStore(address: SftpAddress, { egress, secrets, time }: SftpStoreOptions) {
  const { credentials } = address;
  if (credentials.from !== 'reference')
    throw new PermanentFault('an SFTP server needs "credentials", the name of a secret reference');
  const text = (await secrets.readSecret(credentials.name)).reveal();
  const members = readMembers(text);
  for (const name of ['password', 'privateKey', 'passphrase'] as const) {
    const value = members[name];
    if (value !== undefined) secrets.onValue(new Secret(value));
  }
  return createSftpStore({ server: describeServer(address, members, credentials.name), egress, time });
}

type Members = Partial<Record<'username' | 'password' | 'privateKey' | 'passphrase' | 'hostKey', string>>;
const names = ['username', 'password', 'privateKey', 'passphrase', 'hostKey'] as const;

/** A JSON object, or the password or the private key itself. */
function readMembers(text: string): Members {
  const start = text.trimStart();
  if (start.startsWith('-----BEGIN ') || start.startsWith('PuTTY-User-Key-File')) return { privateKey: text };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { password: text };
  const given = value as Readonly<Record<string, unknown>>;
  const isText = (member: unknown): member is string => typeof member === 'string' && member !== '';
  return Object.fromEntries(names.flatMap((name) => (isText(given[name]) ? [[name, given[name]]] : [])));
}

function describeServer(address: SftpAddress, members: Members, reference: string): SftpServer {
  const { host, port, username = members.username, hostKey = members.hostKey } = address;
  const wrap = (value: string | undefined) => (value === undefined ? undefined : new Secret(value));
  const name = nameStore(address);
  if (username === undefined || username === '')
    throw new PermanentFault(`there is no user for ${name}: write the address as sftp://user@${host}/`);
  if (members.password === undefined && members.privateKey === undefined)
    throw new PermanentFault(
      `the secret of "${reference}" has neither "password" nor "privateKey", one of which SFTP needs`,
    );
  return {
    ...{ name, host, port, username, hostKey },
    password: wrap(members.password),
    privateKey: wrap(members.privateKey),
    passphrase: wrap(members.passphrase),
  };
}
