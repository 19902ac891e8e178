/** `schema.sql` shows the tables as the migrations make them, and `migrations/functions` has all functions. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createTestDatabase } from '../../../testing/database.ts';
import { renderSchema } from '../../../testing/schema-text.ts';
import { migrate } from './migrate.ts';

const database = await createTestDatabase();
after(() => database.drop());
const server = join(import.meta.dirname, '../../..');

test('the tables are those of schema.sql, which `npm run generate` writes', async (t) => {
  const head =
    '-- The tables of the database as all migrations leave them. `npm run generate` writes this file.\n\n';
  const path = join(server, 'schema.sql');
  t.assert.fileSnapshot(head + (await renderSchema(database.query)), path, { serializers: [String] });
});

test('each function, view and trigger has its text in migrations/functions, once', async () => {
  const folder = join(server, 'migrations/functions');
  const texts = await Promise.all(
    (await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')),
  );
  const written = [...texts.join('\n').matchAll(/^create (?:or replace |constraint )(\w+) (\w+)/gm)]
    .map(([, kind, name]) => `${kind} ${name}`)
    .sort();
  const made = await database.query<{ name: string }>(`
    select 'function ' || proname as name from pg_proc p where pronamespace = current_schema()::regnamespace
    union all
    select 'view ' || relname from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'v'
    union all
    select 'trigger ' || tgname from pg_trigger where not tgisinternal`);
  assert.deepEqual(written, made.map(({ name }) => name).sort());
});

test('a function that differs from its text is replaced, once', async () => {
  const readRefuse = async () => {
    const [row] = await database.query<{ text: string }>(
      "select prosrc as text from pg_proc where proname = 'refuse'",
    );
    return row?.text;
  };
  const written = await readRefuse();
  const other = `create or replace function refuse(sqlstate_told text) returns text language sql as 'select null'`;
  await database.query(other);
  await migrate(database.connection);
  assert.equal(await readRefuse(), 'select null', 'nothing has changed in the program');
  await database.query("comment on table schema_migration is 'functions of another version'");
  assert.deepEqual(await migrate(database.connection), []);
  assert.equal(await readRefuse(), written);
});

test('functions that cannot be replaced leave all as it was', async () => {
  // The view of the program cannot replace one with another first column.
  await database.query('drop view place_role');
  await database.query('create view place_role as select 1 as other');
  await database.query("comment on table schema_migration is 'functions of another version'");
  await assert.rejects(migrate(database.connection), /cannot change name of view column/);
  const [marked] = await database.query<{ mark: string }>(
    "select obj_description('schema_migration'::regclass, 'pg_class') as mark",
  );
  assert.equal(marked?.mark, 'functions of another version');
  await database.query('drop view place_role');
  await migrate(database.connection);
});
