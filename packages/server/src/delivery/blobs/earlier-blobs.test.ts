/**
 * Files published before there were packs, each in its own object, are still read and stay where they are.
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { canonicalManifest } from '@headgate/contract';
import { createTestDatabase } from '../../../testing/database.ts';
import { systemClock } from '../../kernel/clock.ts';
import { openDatabase } from '../../kernel/database/database.ts';
import { createUuidMaker } from '../../kernel/identifiers.ts';
import { silentLog } from '../../kernel/log.ts';
import { readManifestFiles } from '../artifacts/index.ts';
import { readBase } from './blob.store.ts';
import { createBlobs } from './blobs.ts';
import { createFolderObjectStore } from './folder-object-store.ts';

const database = await createTestDatabase();
const folder = await mkdtemp(join(tmpdir(), 'headgate-blobs-'));
after(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});
const migrations = join(import.meta.dirname, '../../../migrations');
const ofPacks = '0009_blob_objects.sql';

test('the migration records their place and the manifest that lists them', async () => {
  await database.query('drop schema public cascade');
  await database.query('create schema public');
  const names = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort();
  const apply = async (name: string) => database.query(await readFile(join(migrations, name), 'utf8'));
  for (const name of names.filter((each) => each < ofPacks)) await apply(name);
  const accountId = randomUUID();
  const contents = ['an earlier file', ''];
  const files = contents.map((content, index) => {
    const sha256 = createHash('sha256').update(content).digest('hex');
    return { path: `f${index}`, sha256, size: content.length };
  });
  await database.query('insert into account values ($1, $2, now())', [accountId, 'an account']);
  for (const { sha256, size } of files)
    await database.query('insert into blob values ($1, $2, $3, now())', [accountId, sha256, size]);
  const listed = [...files, { path: 'twice', sha256: files[0]?.sha256 ?? '', size: 15 }];
  const digest = createHash('sha256').update(canonicalManifest(listed)).digest('hex');
  await database.query("insert into manifest values ($1, $2, $3, '[]', now())", [
    accountId,
    digest,
    JSON.stringify(listed),
  ]);
  for (const { sha256 } of files) {
    const place = join(folder, accountId, sha256.slice(0, 2));
    await mkdir(place, { recursive: true });
    await writeFile(join(place, sha256), contents[files.findIndex((file) => file.sha256 === sha256)] ?? '');
  }
  for (const name of names.filter((each) => each >= ofPacks)) await apply(name);

  const opened = openDatabase({
    connection: database.connection,
    connections: 2,
    patienceMilliseconds: 60_000,
    // Dropping the database closes its connections.
    onConnectionError: () => undefined,
  });
  const services = { clock: systemClock, newId: createUuidMaker(systemClock), log: silentLog };
  const blobs = createBlobs({ ...services, database: opened, objects: createFolderObjectStore({ folder }) });
  for (const [index, { sha256 }] of files.entries()) {
    const found = await blobs.read(accountId, sha256);
    assert.equal(found && (await buffer(found.stream)).toString(), contents[index]);
  }
  const [row] = await database.query<{ objects: number }>(
    "select count(*)::int as objects from blob_object where state = 'live' and live_bytes = size and size = 15",
  );
  assert.equal(row?.objects, 1);
  assert.deepEqual(await readManifestFiles(opened.read, accountId, digest), listed);
  const { chunks, blobs: ofBase } = await readBase(opened.read, accountId, digest);
  assert.deepEqual([...chunks], [digest]);
  assert.deepEqual([...ofBase].sort(), files.map((file) => file.sha256).sort());
  await opened.close();
});
