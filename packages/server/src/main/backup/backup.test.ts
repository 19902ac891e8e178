/** A restore brings back every row of every table, including future tables. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { operations } from '@headgate/contract';
import { createTestDatabase, type TestDatabase } from '../../../testing/database.ts';
import { examples, protocolExamples, sortGuards } from '../../../testing/guards.ts';
import { makeHostedProject, makeUserGit } from '../../../testing/hosted-project.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';
import { beginUpload } from '../../../testing/unfinished-upload.ts';
import { createBlobs, openObjectStore } from '../../delivery/blobs/index.ts';
import { openDatabase } from '../../kernel/database/database.ts';
import { createSealer } from '../../kernel/security/sealed.ts';
import { makeBackup } from './backup.ts';
import { withConnection } from './connection.ts';
import { restoreBackup, verifyBackup } from './restore.ts';
import { type CopiedTable, listCopiedTables } from './snapshot.ts';

const server = await startTestServer();
const folder = await mkdtemp(join(tmpdir(), 'headgate-backup-'));
const opened: TestDatabase[] = [];
after(async () => {
  for (const database of opened) await database.drop();
  await rm(folder, { recursive: true });
});

const { sealer, clock } = server.deps;
const hostedHere = { git: server.deps.git, path: server.deps.repositoriesFolder };
const key = { sealer, place: 'data/master-key' };

async function anotherDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  opened.push(database);
  return database;
}

/** Creates an account with something in every table, and returns its id. */
async function fill(): Promise<string> {
  const place = await createPlace(await server.account());
  for (const operation of sortGuards(operations.filter((each) => !each.id.startsWith('delete')))) {
    const of = operation.surface === 'dpc' ? examples : protocolExamples;
    const request = await of[operation.id]?.(place);
    const client = operation.surface === 'dpc' ? place.account.admin : place.agent.client;
    if (request !== undefined) await client.send(operation.method, request.path, request);
  }
  return place.account.accountId;
}

const filledAccount = await fill();

function backup(name: string, by = sealer): Promise<string> {
  const file = join(folder, name);
  const signal = new AbortController().signal;
  const { objects } = server.deps;
  const services = { objects, hosted: hostedHere, sealer: by, clock, version: '0.1.0', signal };
  return withConnection(server.database.connection, async (client) => {
    await makeBackup({ client, ...services }, file);
    return file;
  });
}

const newObjects = async () =>
  openObjectStore({ kind: 'folder', folder: await mkdtemp(join(folder, 'blobs-')) });

async function restore(file: string, into: TestDatabase, mayReplace = false) {
  const objects = await newObjects();
  const verified = await verifyBackup(file, key);
  const hosted = { git: server.deps.git, path: await mkdtemp(join(folder, 'repositories-')) };
  await withConnection(into.connection, (client) =>
    restoreBackup({ client, objects, hosted }, verified, mayReplace),
  );
  return objects;
}

const rowsOf = async (database: TestDatabase, { name, columns }: CopiedTable): Promise<string[]> => {
  const row = `row(${columns.map((column) => `"${column}"`).join(', ')})::text`;
  const rows = await database.query<{ row: string }>(`select ${row} as row from "${name}" order by 1`);
  return rows.map(({ row }) => row);
};

test('every row of every table and every byte of every blob is restored', async () => {
  const file = await backup('all');
  const target = await anotherDatabase();
  const objects = await restore(file, target);
  const tables = await withConnection(server.database.connection, listCopiedTables);
  let rows = 0;
  for (const table of tables) {
    // The places of blobs differ: in packs there, one object each here.
    if (table.name === 'blob_object') continue;
    const columns = table.columns.filter((column) => !column.startsWith('object_'));
    const compared = table.name === 'blob' ? { ...table, columns } : table;
    const [there, here] = [await rowsOf(server.database, compared), await rowsOf(target, compared)];
    // Work under way is fenced; see the test below.
    if (table.name !== 'work') assert.deepEqual(here, there, table.name);
    assert.equal(here.length, there.length, table.name);
    rows += here.length;
  }
  assert.ok(rows > tables.length, `${rows} rows`);
  const retained = await target.query<{ account_id: string; digest: string }>(
    'select account_id, digest from blob',
  );
  assert.ok(retained.length > 0);
  const database = openDatabase({
    connection: target.connection,
    connections: 2,
    patienceMilliseconds: 60_000,
    // Dropping the database closes its connections.
    onConnectionError: () => undefined,
  });
  const blobs = createBlobs({ ...server.deps, database, objects });
  for (const { account_id, digest } of retained) {
    const found = await blobs.read(account_id, digest);
    const hash = createHash('sha256');
    for await (const chunk of found?.stream ?? []) hash.update(chunk);
    assert.equal(hash.digest('hex'), digest);
  }
  await database.close();
});

test('a backup of a later version is refused with one line before a database is opened, with --force too', async () => {
  const [newest] = await server.database.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migration order by name desc limit 1',
  );
  assert.ok(newest);
  const change = 'update schema_migration set checksum = $2 where name = $1';
  await server.database.query(change, [newest.name, 'of a later version']);
  const file = await backup('of-a-later-version').finally(() =>
    server.database.query(change, [newest.name, newest.checksum]),
  );
  await assert.rejects(verifyBackup(file, key), ({ message }: Error) => {
    assert.match(message, /^The backup contains the migration .*Nothing was changed.*or a later one\.$/);
    assert.ok(message.includes(newest.name), message);
    return true;
  });
});

test('a backup contains nothing of an upload under way', async () => {
  const account = await server.account();
  const target = await anotherDatabase();
  await beginUpload(server.deps, account, { texts: ['brought, and not published'] }, async () => {
    await restore(await backup('under-way'), target);
  });
  for (const table of ['blob', 'blob_object'])
    assert.deepEqual(
      await target.query(`select from ${table} where account_id = $1`, [account.accountId]),
      [],
    );
});

test('agents lose the work they held, and sequences continue', async () => {
  const target = await anotherDatabase();
  await restore(await backup('fenced'), target);
  const epochs = (database: TestDatabase) =>
    database.query<{ epoch: number }>("select epoch from work where state <> 'ended' order by work_id");
  const before = await epochs(server.database);
  assert.ok(before.length > 0);
  assert.deepEqual(
    (await epochs(target)).map(({ epoch }) => epoch),
    before.map(({ epoch }) => epoch + 1_000_000),
  );
  const [next] = await target.query<{ above: boolean }>(`
    select nextval(pg_get_serial_sequence('execution_step', 'ordinal')) > coalesce(max(ordinal), 0) as above from execution_step`);
  assert.equal(next?.above, true);
});

test('the event log keeps its positions and continues, also where retention removed its last events', async () => {
  const [log] = await server.database.query<{ account_id: string; last: number }>(
    'select account_id, (sequence_events(account_id, 10000)).last::integer as last from account where account_id = $1',
    [filledAccount],
  );
  assert.ok(log !== undefined && log.last > 50);
  await server.database.query('delete from event where account_id = $1 and position > 50', [log.account_id]);
  const target = await anotherDatabase();
  await restore(await backup('log'), target);
  await target.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id)
     select $1, now(), gen_random_uuid(), 'variable-created', 'system', 'variable', 'x'`,
    [log.account_id],
  );
  const [continued] = await target.query<{ last: number; numbered: number }>(
    'select last::integer, numbered from sequence_events($1, 100)',
    [log.account_id],
  );
  assert.deepEqual(continued, { last: log.last + 1, numbered: 1 });
});

test('data is replaced only on request, and then completely', async () => {
  const target = await anotherDatabase();
  const before = await backup('before');
  await restore(before, target);
  await server.account();
  const later = await backup('later');
  const accounts = async (database: TestDatabase) =>
    (await database.query<{ account_id: string }>('select account_id from account order by 1')).length;
  const count = await accounts(target);
  await assert.rejects(restore(later, target), /add --force/);
  assert.equal(await accounts(target), count);
  await restore(later, target, true);
  assert.equal(await accounts(target), await accounts(server.database));
});

test('a restore that fails leaves the database unchanged', async () => {
  const file = await backup('to break off');
  const target = await anotherDatabase();
  const verified = await verifyBackup(file, key);
  const header = structuredClone(verified.header);
  // The columns of the first table do not match: the copy fails after all tables were emptied.
  header.tables[0]?.columns.reverse();
  const objects = await newObjects();
  const breaking = withConnection(target.connection, (client) =>
    restoreBackup({ client, objects, hosted: hostedHere }, { ...verified, header }, true),
  );
  await assert.rejects(breaking);
  assert.deepEqual(await target.query('select name from account'), []);
  await restore(file, target);
});

test('hosted repositories are restored with all branches and tags; earlier ones are moved aside', async () => {
  const git = await makeUserGit();
  const hosted = await makeHostedProject(server, await server.listen());
  const empty = await makeHostedProject(server, '');
  const tree = await git.makeTree('tree');
  await git.ok(['tag', '-a', '-m', 'first', 'v1'], { cwd: tree });
  await git.ok(['push', '-q', hosted.url, 'main', 'main:größe', 'v1'], { cwd: tree });
  const file = await backup('with repositories');
  const refs = await git.ok(['for-each-ref'], { cwd: hosted.folder });

  const into = { git: server.deps.git, path: await mkdtemp(join(folder, 'repositories-')) };
  const earlier = join(into.path, `${hosted.project.projectId}.git`);
  await into.git.makeRepository(earlier);
  const verified = await verifyBackup(file, key);
  const services = { objects: await newObjects(), hosted: into };
  const target = await anotherDatabase();
  const { replacedRepositories } = await withConnection(target.connection, (client) =>
    restoreBackup({ client, ...services }, verified, false),
  );
  assert.equal(await git.ok(['for-each-ref'], { cwd: earlier }), refs);
  await git.ok(['fsck', '--full', '--strict'], { cwd: earlier });
  assert.match(replacedRepositories ?? '', /replaced-/);
  const marker = await target.query<{ marker: string }>('select marker from repositories_folder');
  assert.equal((await readFile(join(into.path, 'headgate-repositories'), 'utf8')).trim(), marker[0]?.marker);
  // An empty one is made at its first use.
  assert.equal(existsSync(join(into.path, `${empty.project.projectId}.git`)), false);
});

test('tables of another program are never changed', async () => {
  const target = await anotherDatabase();
  await target.query('drop table schema_migration');
  await assert.rejects(restore(await backup('for another'), target, true), /tables of another program/);
  assert.deepEqual(await target.query('select name from account'), []);
});

test('the database of a running server is not replaced', async () => {
  const file = await backup('of a running one');
  await assert.rejects(restore(file, server.database, true), /Headgate runs on this database/);
});

test('without the master key, or with another, nothing is restored or backed up', async () => {
  const file = await backup('sealed');
  const other = createSealer(Buffer.alloc(32, 'another key'));
  await assert.rejects(
    verifyBackup(file, { ...key, sealer: undefined }),
    /fingerprint [0-9a-f]{16}, and this installation has no master key\. Copy the file master-key .* to data\/master-key/,
  );
  await assert.rejects(
    verifyBackup(file, { ...key, sealer: other }),
    /the key of this installation has the fingerprint/,
  );
  await assert.rejects(backup('by another key', other), /cannot be decrypted with this master key/);
});

test('restoring a backup of a newer Headgate reports the missing migration', async () => {
  const verified = await verifyBackup(await backup('newer'), key);
  const migrations = [...verified.header.migrations, { name: '9999_later.sql', checksum: '0' }];
  const newer = { ...verified, header: { ...verified.header, migrations } };
  const target = await anotherDatabase();
  const objects = await newObjects();
  const restoring = withConnection(target.connection, (client) =>
    restoreBackup({ client, objects, hosted: hostedHere }, newer, false),
  );
  await assert.rejects(restoring, /9999_later\.sql, which this version of Headgate does not have/);
});

test('a missing published file is reported, and no backup is made', async () => {
  const objects = await newObjects();
  const { signal } = new AbortController();
  const services = { objects, hosted: hostedHere, sealer, clock, version: '0.1.0', signal };
  const making = withConnection(server.database.connection, (client) =>
    makeBackup({ client, ...services }, join(folder, 'missing')),
  );
  await assert.rejects(making, /The published file [0-9a-f]{64} .* is missing/);
});
