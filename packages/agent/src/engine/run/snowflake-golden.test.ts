/**
 * The SQL that components send to Snowflake, which people have read. After a change on purpose, write it again by
 * `node --test --test-update-snapshots packages/agent/src/engine/run/snowflake-golden.test.ts`, and read it.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestSnowflake } from '../../../testing/snowflake.ts';
import { createFixture } from './engine-fixture.ts';
import { readTable } from './flow-fixture.ts';
import { type Components, flows } from './served-flows-fixture.ts';

const snowflake = await createTestSnowflake();
const connection = await snowflake.driver.connect(snowflake.target);
const fixture = await createFixture(undefined, undefined, undefined, connection);
after(async () => {
  fixture.dispose();
  await connection.close();
  await snowflake.drop();
});

for (const table of [
  `create table sales as select 'a' as region, id, 10 as amount, 1.5 as price, 'x,y' as note
    from (values (1), (2), (3), (4), (5)) t(id)`,
  "create table later as select 'a' as region, 1 as id, 11 as amount",
  'create table wide as select 1 as id, 10 as q1, 20 as q2',
  'create table target (id integer, region varchar, amount integer)',
])
  await snowflake.fake.prepare(table);

const output = (type: string, parameters: object): Components => ({
  In: readTable('sales', ['id', 'region', 'amount']),
  Out: { type, sources: ['In'], parameters },
});
const outputs: Record<string, Components> = {
  'table-output, Append': output('table-output', { targetTable: 'target', outputMode: 'Append' }),
  'table-output, Truncate': output('table-output', { targetTable: 'target', outputMode: 'Truncate' }),
  'table-update': output('table-update', {
    targetTable: 'target',
    joinExpression: [['"target"."id" = "input"."id"', 'Case']],
    whenMatched: [
      ['"input"."amount" is null', 'Delete'],
      ['true', 'Update'],
    ],
    updateMapping: [['amount', 'amount']],
    includeNotMatched: 'Yes',
    insertMapping: ['id', 'region', 'amount'].map((column) => [column, column]),
  }),
  'create-view': output('create-view', { viewName: 'seen' }),
};

/** What a transformation sends. */
async function record(components: Components): Promise<string> {
  const [session] = snowflake.fake.sessions.values();
  assert.ok(session);
  session.history.length = 0;
  const text = JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } });
  await fixture.publish({ 'flow.tran.yaml': text });
  const request = { warehouse: 'SNOWFLAKE', defaults: { database: 'SHOP', schema: 'WH' } };
  assert.deepEqual(await fixture.run('flow', request), { status: 'SUCCESS' });
  return session.history.join(';\n');
}

test('the SQL of the transformations is what was read', async (t) => {
  const parts: string[] = [];
  const Out = { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } };
  for (const [name, components] of Object.entries(flows))
    parts.push(`-- ${name}\n${await record({ ...components, Out })};\n`);
  for (const [name, components] of Object.entries(outputs))
    parts.push(`-- ${name}\n${await record(components)};\n`);
  const path = new URL('./snowflake-golden.sql', import.meta.url).pathname;
  t.assert.fileSnapshot(parts.join('\n'), path, { serializers: [String] });
});
