/** Secrets of runs in PostgreSQL: other sessions see the statements there. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { createTestPostgres } from '../../testing/postgres.ts';

const canary = 'canary-8f21';
const postgres = await createTestPostgres();
const { driver, target } = postgres;
const password = (await target.readSecret('warehouse-password')).reveal();
const scene = await openConnectorScene(
  new Map([
    ['warehouse-password', password],
    ['salt', canary],
  ]),
  undefined,
  { postgres: driver, warehouse: { kind: 'postgres', connection: target.connection } },
);
after(async () => {
  await scene.close();
  await postgres.drop();
});

const render = (type: string, components: object) =>
  JSON.stringify({ type, version: '1.0', pipeline: { components } });
/** Runs scripts one after the other, in one session. */
async function run(...scripts: string[]) {
  const components = Object.fromEntries(
    scripts.map((sqlScript, index) => [
      `S${index}`,
      {
        type: 'sql-script',
        parameters: { sqlScript },
        ...(index + 1 < scripts.length ? { transitions: { success: [`S${index + 1}`] } } : {}),
      },
    ]),
  );
  const start = { type: 'start', transitions: { unconditional: ['S0'] } };
  const { status, message } = await scene.run(
    { 'main.orch.yaml': render('orchestration', { Start: start, ...components }) },
    'main',
  );
  assert.equal(status, 'SUCCESS', message);
}
const rows = async (sql: string) => (await postgres.admin.query({ text: sql, rowMode: 'array' })).rows;

// What a session shows of itself while it runs the statement.
const seen = 'select query from pg_stat_activity where pid = pg_backend_pid()';

it('a secret in a text literal is a parameter', async () => {
  await run(
    'drop table if exists wh.seen; create table wh.seen (query text, secret varchar(40), other text)',
    `insert into wh.seen select query, '\${secret("salt")}', '\${secret("salt")}' from (${seen}) as s`,
  );
  const [[query, secret, other] = []] = await rows('select query, secret, other from wh.seen');
  assert.match(query, /select query, \$1, \$2 from/);
  assert.deepEqual([secret, other], [canary, canary]);
});

it('also where an expression is used twice, and in a new table', async () => {
  const hash = `md5(query || '\${secret("salt")}')`;
  await run(
    'drop table if exists wh.seen',
    `create table wh.seen as select ${hash} as hash, max(query) as query from (${seen}) as s group by ${hash}`,
  );
  const [[hashed, query] = []] = await rows('select hash, query from wh.seen');
  assert.match(query, /group by md5\(query \|\| \$1\)/);
  assert.deepEqual([[hashed]], await rows(`select md5('${query}' || '${canary}')`));
});

it('a statement without parameters runs in a block', async () => {
  await run(
    'drop table if exists wh.seen',
    `create table wh.seen (name text default 'x\${secret("salt")}', query text)`,
    `create materialized view wh.seen_view as ${seen} and '\${secret("salt")}' <> ''`,
  );
  assert.match(String(await rows('select query from wh.seen_view')), /^do \$headgate\$/);
  assert.match(
    String(await rows("select column_default from information_schema.columns where column_name = 'name'")),
    /xcanary-8f21/,
  );
});

it('a literal that cannot be a parameter stays as it is written, and is not shown when it has run', async () => {
  await run(
    'drop table if exists wh.seen; create table wh.seen (day date)',
    `begin; insert into wh.seen select date '2030-01-02' where text '\${secret("salt")}' <> ''; commit`,
  );
  assert.deepEqual(await rows('select day::text from wh.seen'), [['2030-01-02']]);
  assert.deepEqual(
    await rows("select query from pg_stat_activity where query like '%8f21%' and pid <> pg_backend_pid()"),
    [],
  );
});
