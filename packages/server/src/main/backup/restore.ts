/**
 * Replaces the database and the blobs by those of a backup. The file is read twice: nothing is changed
 * before the whole file is verified.
 */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { buildSingleBlobKey, type ObjectStore } from '../../delivery/blobs/index.ts';
import { refuseNewerBackup, refuseNewerSchema } from '../../kernel/database/migrate.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { readVerifiedMembers, verifyArchive } from './archive.ts';
import { type BackupHeader, createSeal, headerName, readHeader } from './header.ts';
import {
  beginRefill,
  commitRefill,
  type Filling,
  fillTable,
  readOccupancy,
  refuseConnectedServers,
} from './refill.ts';
import { createRepositoryRestore, type HostedFolder, type RepositoryRestore } from './repositories.ts';

export interface VerifiedBackup {
  file: string;
  header: BackupHeader;
  sums: string;
}

/** @throws with the reason if the file is damaged, belongs to another master key, or is newer than this program */
export async function verifyBackup(
  file: string,
  key: { sealer: Sealer | undefined; place: string },
): Promise<VerifiedBackup> {
  let header: BackupHeader | undefined;
  // `readHeader` has already refused a missing key.
  const seal = (sums: string) => (key.sealer === undefined ? '' : createSeal(key.sealer)(sums));
  const sums = await verifyArchive(file, seal, (first) => {
    header = readHeader(file, first, key);
  });
  if (header === undefined) throw new Error(`${file} is not a backup of Headgate.`);
  await refuseNewerBackup(header.migrations);
  return { file, header, sums };
}

/** @throws if the database is in use and must not be replaced; after any failure before the commit it is unchanged */
export async function restoreBackup(
  services: { client: pg.Client; objects: ObjectStore; hosted: HostedFolder },
  backup: VerifiedBackup,
  mayReplace: boolean,
): Promise<{ replacedRepositories: string | undefined }> {
  const { client } = services;
  // Replacing all of it is the way back from a later version.
  if (!mayReplace) await refuseNewerSchema(client);
  await refuseConnectedServers(client);
  const there = await readOccupancy(client);
  if (there === 'foreign') {
    throw new Error(
      'The database of DATABASE_URL holds tables of another program. Set DATABASE_URL to an empty database.',
    );
  }
  if (there === 'in use' && !mayReplace) {
    throw new Error(
      'This installation already has data. To replace all of it by the backup, add --force. ' +
        'Or set HEADGATE_DATA_DIR or DATABASE_URL to a new one.',
    );
  }
  await beginRefill(client, backup.header.migrations);
  const repositories = createRepositoryRestore(services.hosted, randomUUID().slice(0, 8));
  await refillFromArchive(services, backup, repositories);
  await commitRefill(client);
  return { replacedRepositories: await repositories.place(client) };
}

async function refillFromArchive(
  { client, objects }: { client: pg.Client; objects: ObjectStore },
  { file, header, sums }: VerifiedBackup,
  repositories: RepositoryRestore,
): Promise<void> {
  const tables = new Map(header.tables.map((table) => [table.name, table]));
  let filling: Filling | undefined;
  for await (const { name, bytes } of readVerifiedMembers(file, sums)) {
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
    else if (kind === 'repositories') await repositories.write(owner, bytes);
    else if (name !== headerName)
      throw new Error(`${file} holds ${name}, which does not belong in a backup of Headgate.`);
  }
  await filling?.end();
  await repositories.finish();
}

/** Stores each blob as its own object. An existing object with this key has the same bytes. */
async function putBlob(objects: ObjectStore, owner: string, digest: string, bytes: Buffer): Promise<void> {
  if (bytes.length > 0) await objects.put(owner, buildSingleBlobKey(digest), [bytes]);
}
