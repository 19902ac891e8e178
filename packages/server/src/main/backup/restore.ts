/** Puts a backup's database and blobs in place of what is there. The file is read twice: nothing is touched before all of it is found whole. */
import type pg from 'pg';
import { buildSingleBlobKey, type ObjectStore } from '../../delivery/blobs/index.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { verifiedMembers, verifyArchive } from './archive.ts';
import { type BackupHeader, headerName, readHeader, sealWith } from './header.ts';
import {
  beginRefill,
  commitRefill,
  type Filling,
  fillTable,
  occupancy,
  refuseConnectedServers,
} from './refill.ts';

export interface VerifiedBackup {
  file: string;
  header: BackupHeader;
  sums: string;
}

/** @throws with the reason, when the file is not whole or not of this key */
export async function verifyBackup(
  file: string,
  key: { sealer: Sealer | undefined; place: string },
): Promise<VerifiedBackup> {
  let header: BackupHeader | undefined;
  // Before the first member has shown that there is a key, nothing is sealed.
  const seal = (sums: string) => (key.sealer === undefined ? '' : sealWith(key.sealer)(sums));
  const sums = await verifyArchive(file, seal, (first) => {
    header = readHeader(file, first, key);
  });
  if (header === undefined) throw new Error(`${file} is no backup of Headgate.`);
  return { file, header, sums };
}

/** @throws when the database is in use and may not be replaced; then, and after any failure, it is what it was */
export async function restoreBackup(
  services: { client: pg.Client; objects: ObjectStore },
  backup: VerifiedBackup,
  mayReplace: boolean,
): Promise<void> {
  const { client } = services;
  await refuseConnectedServers(client);
  const there = await occupancy(client);
  if (there === "somebody else's") {
    throw new Error('The database of DATABASE_URL holds tables of another program: name an empty one.');
  }
  if (there === 'in use' && !mayReplace) {
    throw new Error(
      'There is a Headgate with data already. To replace all of it by the backup, add --force; or set HEADGATE_DATA_DIR (or DATABASE_URL) to a new one.',
    );
  }
  await beginRefill(client, backup.header.migrations);
  await putBack(services, backup);
  await commitRefill(client);
}

async function putBack(
  { client, objects }: { client: pg.Client; objects: ObjectStore },
  { file, header, sums }: VerifiedBackup,
): Promise<void> {
  const tables = new Map(header.tables.map((table) => [table.name, table]));
  let filling: Filling | undefined;
  for await (const { name, bytes } of verifiedMembers(file, sums)) {
    const [kind, owner = '', digest = ''] = name.split('/');
    const table = kind === 'tables' ? tables.get(owner) : undefined;
    if (filling !== undefined && filling.table !== table?.name) {
      await filling.end();
      filling = undefined;
    }
    if (table !== undefined) {
      filling ??= fillTable(client, table);
      await filling.write(bytes);
    } else if (kind === 'blobs') await putBlob(objects, owner, digest, bytes);
    else if (name !== headerName) throw new Error(`${file} holds ${name}, which is nothing of Headgate's.`);
  }
  await filling?.end();
}

/** Each as an object of its own, wherever it lay: what is there under the key is the same bytes. */
async function putBlob(objects: ObjectStore, owner: string, digest: string, bytes: Buffer): Promise<void> {
  if (bytes.length > 0) await objects.put(owner, buildSingleBlobKey(digest), [bytes]);
}
