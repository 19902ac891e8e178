/** Makes a backup: a snapshot of the database, its blobs and hosted repositories in one file, while servers write. */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type pg from 'pg';
import type { ObjectStore } from '../../delivery/blobs/index.ts';
import type { Clock } from '../../kernel/clock.ts';
import { refuseNewerSchema } from '../../kernel/database/migrate.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { signingKeyPurpose } from '../../kernel/security/signing-keys.ts';
import { type AddMember, writeArchive } from './archive.ts';
import { createHeader, createSeal, headerName } from './header.ts';
import { addRepository, type HostedFolder, listHostedProjects } from './repositories.ts';
import { type CopiedTable, openSnapshot, readRows } from './snapshot.ts';

export interface BackupServices {
  /** A separate connection without a statement timeout. */
  client: pg.Client;
  objects: ObjectStore;
  hosted: HostedFolder;
  sealer: Sealer;
  clock: Clock;
  version: string;
  signal: AbortSignal;
}

export interface BackupMade {
  madeAt: Date;
  tables: number;
  blobs: number;
  repositories: number;
}

/**
 * @throws if the file exists, the database is that of a later version, a published file is missing or damaged, or the
 * master key is not the database's
 */
export async function makeBackup(services: BackupServices, file: string): Promise<BackupMade> {
  const { client, sealer, clock, version, signal } = services;
  await refuseNewerSchema(client);
  const snapshot = await openSnapshot(client);
  const madeAt = clock.now();
  await requireKeyOfDatabase(client, sealer);
  let blobs = 0;
  let repositories = 0;
  await writeArchive(file, { seal: createSeal(sealer), madeAt, signal }, async (add) => {
    const header = createHeader(snapshot, { sealer, madeAt, version });
    await add(headerName, Buffer.from(`${JSON.stringify(header, null, 2)}\n`));
    for (const table of snapshot.tables) await addTable(client, table, add);
    const { rows } = await client.query<BlobRow>(
      // Blobs of an unfinished upload: their bytes may be missing.
      `select account_id, digest, size, object_key, object_offset from blob b
       where not exists (select from blob_object o where o.account_id = b.account_id and o.object_key = b.object_key and o.state = 'pending')
       order by account_id, object_key, object_offset`,
    );
    const projects = await listHostedProjects(client);
    // The snapshot can end here: objects never change, exist before their rows, and outlive them by the
    // grace period.
    await client.query('commit');
    for (const blob of rows) await addBlob(services.objects, blob, add);
    blobs = rows.length;
    // As of now, and so with all that the snapshot names.
    for (const projectId of projects)
      if (await addRepository(services.hosted, projectId, add)) repositories += 1;
  });
  return { madeAt, tables: snapshot.tables.length, blobs, repositories };
}

/** With another key the backup's seal would not match the database's secrets. */
async function requireKeyOfDatabase(client: pg.Client, sealer: Sealer): Promise<void> {
  const { rows } = await client.query<{ private_key_sealed: Buffer }>(
    'select private_key_sealed from signing_key order by created_at desc limit 1',
  );
  for (const { private_key_sealed } of rows) sealer.unseal(private_key_sealed, signingKeyPurpose);
}

/** `tables/<name>/<part>`; a table without rows has no part. */
async function addTable(client: pg.Client, table: CopiedTable, add: AddMember): Promise<void> {
  let part = 0;
  for await (const bytes of readRows(client, table)) {
    part += 1;
    await add(`tables/${table.name}/${String(part).padStart(6, '0')}`, bytes);
  }
}

interface BlobRow {
  account_id: string;
  digest: string;
  size: string;
  object_key: string;
  object_offset: string;
}

/** `blobs/<account>/<digest>` */
async function addBlob(objects: ObjectStore, blob: BlobRow, add: AddMember): Promise<void> {
  const { account_id: accountId, digest } = blob;
  const bytes = await readBlobBytes(objects, blob);
  if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== digest) {
    throw new Error(
      `The published file ${digest} of the account ${accountId} is ${bytes === undefined ? 'missing' : 'damaged'} in the object ${blob.object_key}: ` +
        'restore that object from an earlier backup, or publish the file again. No backup was made.',
    );
  }
  await add(`blobs/${accountId}/${digest}`, bytes);
}

async function readBlobBytes(
  objects: ObjectStore,
  { account_id: accountId, size, object_key: key, object_offset: start }: BlobRow,
): Promise<Buffer | undefined> {
  const length = Number(size);
  if (length === 0) return Buffer.alloc(0);
  const stream = await objects.read(accountId, key, { start: Number(start), length });
  return stream && buffer(stream);
}
