/** COPY between files and PostgreSQL, and its faults: each ends in words, and the next statement works. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { createTestPostgres } from '../../testing/postgres.ts';
import type { CopiedFile } from '../engine/ports/ports.ts';

const postgres = await createTestPostgres();
const folder = mkdtempSync(join(tmpdir(), 'headgate-copy-'));
const connection = await postgres.driver.connect(postgres.target);
after(async () => {
  await connection.close();
  rmSync(folder, { recursive: true });
  await postgres.drop();
});
await connection.execute('create table t (id integer, name text)');

const path = join(folder, 'rows.csv');
async function copy(sql: string, file: Partial<CopiedFile> = {}, limit?: AbortSignal): Promise<number> {
  assert.ok(connection.copy !== undefined);
  const { rowCount } = await connection.copy(sql, { path, to: 'warehouse', ...file }, undefined, limit);
  return rowCount;
}
const copyIn = 'copy t from stdin (format csv)';
const goesOn = async () => assert.equal((await connection.query('select 1', 1)).rows.length, 1);

it('sends a file without its first lines, and writes the same rows', async () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => `${index},"some ""text"", é"\n`).join('');
  writeFileSync(path, `made by hand\nid,name\n${rows}`);
  assert.equal(await copy(copyIn, { skippedLines: 2 }), 200_000);
  const written = join(folder, 'written.csv');
  const out = 'copy (select * from t order by id) to stdout (format csv)';
  assert.equal(await copy(out, { path: written, to: 'file' }), 200_000);
  assert.ok(readFileSync(written, 'utf8') === rows);
  await connection.execute('truncate t');
});

it('leaves out first lines that end by CR, LF or both, also where a pair is divided', async () => {
  const long = (end: string) => `${'x'.repeat(262_143)}${end}`;
  for (const [text, skippedLines] of [
    ['id,name\r1,a\r2,b\r', 1],
    ['one\r\nid,name\r\n1,a\r\n2,b\r\n', 2],
    [`${long('\r\n')}1,a\r\n2,b\r\n`, 1],
    [`${long('\r\n')}\r\n1,a\r\n2,b\r\n`, 2],
    [`${long('\r')}1,a\r2,b\r`, 1],
    ['one\r\rid\n1,a\n2,b\n', 3],
  ] as const) {
    writeFileSync(path, text);
    assert.equal(await copy(copyIn, { skippedLines }), 2, JSON.stringify(text.slice(-30)));
  }
  await connection.execute('truncate t');
});

it('a line that does not fit ends it, with its place, and nothing is loaded', async () => {
  writeFileSync(path, `1,a\nx,b\n${'2,c\n'.repeat(500_000)}`);
  await assert.rejects(
    copy(copyIn),
    /invalid input syntax for type integer: "x" \(22P02\)\nCOPY t, line 2, column id: "x"/,
  );
  assert.deepEqual((await connection.query('select count(*) from t', 1)).rows, [[0]]);
});

it('a line that would end the rows without a word is refused', async () => {
  for (const text of [
    '1,a\n\\.\n2,b\n',
    '1,a\r\\.\r2,b\r',
    '\\.\r\n1,a\n',
    `${'1,a\n'.repeat(65_535)}12\n\\.\n2,b\n`,
  ]) {
    writeFileSync(path, text);
    await assert.rejects(
      copy(copyIn),
      /a line with nothing but \\\. in it, which PostgreSQL takes for its end/,
    );
  }
  writeFileSync(path, '1,"\\."\n2,\\.x\n');
  assert.equal(await copy(copyIn), 2);
  await connection.execute('truncate t');
});

it('a file that is gone, and a COPY of another kind, end it', async () => {
  await assert.rejects(copy(copyIn, { path: join(folder, 'no.csv') }), /ENOENT/);
  await goesOn();
  await assert.rejects(copy('copy nothing from stdin'), /relation "nothing" does not exist/);
  await goesOn();
});

it('a full disk is said', async () => {
  const out = "copy (select repeat('x', 1000) from generate_series(1, 2000)) to stdout";
  await assert.rejects(
    copy(out, { path: '/dev/full', to: 'file' }),
    /the disk of the agent is full \(ENOSPC\): free space/,
  );
  await goesOn();
});

it('a row of 100 MB is refused, and costs the session', async () => {
  const other = await postgres.driver.connect(postgres.target);
  assert.ok(other.copy !== undefined);
  const giant = "copy (select repeat('x', 100000000)) to stdout";
  const file = { path: join(folder, 'giant.csv'), to: 'file' } as const;
  await assert.rejects(
    other.copy(giant, file),
    /sent a row of more than 64 MiB, which is more than the agent reads/,
  );
  assert.equal((await other.query('select 1', 1)).rows.length, 1, 'a new session takes its place');
  await other.close();
});

/** Its last row is inserted for ten minutes. */
async function hang(): Promise<void> {
  await connection.execute(`create or replace function wait() returns trigger language plpgsql as
    $$ begin perform pg_sleep(case when new.id = 6 then 600 else 0 end); return new; end $$`);
  await connection.execute(
    'create or replace trigger wait before insert on t for each row execute function wait()',
  );
  writeFileSync(path, `${'5,some text\n'.repeat(100_000)}6,last\n`);
}
const sleeping = "select 1 from pg_stat_activity where wait_event = 'PgSleep' and query like 'copy%'";

it('its limit ends a server that hangs', async () => {
  await hang();
  const limit = new AbortController();
  const copying = copy(copyIn, {}, limit.signal);
  copying.catch(() => undefined);
  while ((await postgres.admin.query(sleeping)).rowCount === 0);
  limit.abort();
  await assert.rejects(copying, /canceling statement due to user request/);
  await goesOn();
});

it('a server that cuts the connection leaves it open whether the rows are there', async () => {
  await hang();
  const copying = copy(copyIn);
  copying.catch(() => undefined);
  while ((await postgres.admin.query(sleeping)).rowCount === 0);
  postgres.cut();
  await assert.rejects(
    copying,
    /was lost during the statement, so it is not known whether the statement took effect/,
  );
  await goesOn();
});
