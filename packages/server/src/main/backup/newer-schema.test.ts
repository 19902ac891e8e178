/** A database that a later version of the program has migrated. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { migrate } from '../../kernel/database/migrate.ts';
import { type BackupServices, makeBackup } from './backup.ts';
import { withConnection } from './connection.ts';
import { restoreBackup, type VerifiedBackup } from './restore.ts';

const server = await startTestServer();
const { connection } = server.database;
const later = '9999_later.sql';

const readTables = async () =>
  server.database.query("select relname::text from pg_class where relkind = 'r' order by 1");
const readApplied = async () => server.database.query('select name from schema_migration order by 1');

test('is refused with one line, by the start and by the commands, and nothing is written', async () => {
  const [newest] = (await server.database.query(
    'select name from schema_migration order by name desc limit 1',
  )) as { name: string }[];
  // What the start would write if it went on.
  await server.database.query('delete from schema_migration where name = $1', [newest?.name]);
  await server.database.query("insert into schema_migration (name, checksum) values ($1, 'x')", [later]);
  const [tables, applied] = [await readTables(), await readApplied()];
  const isTold = ({ message }: Error) => {
    assert.ok(message.includes(later) && message.includes(newest?.name ?? '?'), message);
    assert.match(message, /later version.*Use that version or a later one/);
    assert.doesNotMatch(message, /\n/);
    return true;
  };
  await assert.rejects(migrate(connection), isTold);
  await withConnection(connection, async (client) => {
    await assert.rejects(makeBackup({ client } as BackupServices, '/dev/null/none'), isTold);
    await assert.rejects(
      restoreBackup({ client } as Parameters<typeof restoreBackup>[0], {} as VerifiedBackup, false),
      isTold,
    );
  });
  assert.deepEqual([await readTables(), await readApplied()], [tables, applied]);
});

test('also if only a migration between the known ones is not known', async () => {
  await server.database.query('update schema_migration set name = $1 where name = $2', [
    '0001_other.sql',
    later,
  ]);
  await assert.rejects(migrate(connection), /it has 0001_other.sql/);
});
