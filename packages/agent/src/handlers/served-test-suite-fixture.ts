/** What tests of pipelines do in every served warehouse. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ConnectorScene } from '../../testing/connector-scene.ts';
import { component, orchestration, sql, underTest } from '../../testing/tested-pipelines.ts';

export interface ServedTestSuite {
  scene: Pick<ConnectorScene, 'run' | 'test'>;
  /** The names of tables in the SQL of users. */
  schema: string;
  name(table: string): string;
  /** Runs SQL as the operator of the warehouse. */
  prepare(statement: string): Promise<unknown>;
  /** The rows of the table `orders` of the environment, as text. */
  readOrders(): Promise<string[]>;
  listScratchSchemas(): Promise<string[]>;
}

const transformation = (table: (name: string) => string) => `type: transformation
version: "1.0"
pipeline:
  components:
    Read:
      type: table-input
      parameters:
        targetTable: ${table('orders')}
        columnNames: [${table('customer')}, ${table('amount')}]
    Write:
      type: rewrite-table
      sources: [Read]
      parameters:
        targetTable: ${table('totals')}
`;

export function describeServedTests(suite: ServedTestSuite): void {
  const { scene, schema, name } = suite;
  const create = (next?: string) =>
    sql(
      'First',
      "create table orders (customer varchar(20), amount integer); insert into orders values ('Di', 40)",
      next,
    );
  const load = {
    'load.orch.yaml': orchestration(
      [
        sql('First', "insert into orders values ('Cy', 2)", 'Totals'),
        component('Totals', 'run-transformation', 'transformationJob: totals'),
      ].join(''),
    ),
    'totals.tran.yaml': transformation(name),
  };
  const check = (rows: string) =>
    component(
      'Check',
      'assert-table',
      `tableName: ${name('totals')}\nrowCountComparisonType: Equal To\nrowCountValue: "${rows}"`,
    );
  const test = (rows: string) =>
    orchestration(
      [
        create('Under test'),
        component('Under test', 'run-pipeline-under-test', 'pipelineName: load', 'Check'),
        check(rows),
      ].join(''),
    );

  it('a test works in a schema of its own, and the tables of the environment stay as they are', async () => {
    const before = await suite.readOrders();
    const files = { ...load, 'good.orch.yaml': test('2'), 'bad.orch.yaml': test('3') };
    const { results, ...outcome } = await scene.test(files, ['good.orch.yaml', 'bad.orch.yaml']);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['PASSED', 'FAILED'],
      JSON.stringify(results),
    );
    assert.match(results[1]?.message ?? '', /"totals" has 2 rows/i);
    assert.equal(outcome.status, 'FAILED');
    assert.deepEqual(await suite.readOrders(), before);
    assert.deepEqual(await suite.listScratchSchemas(), []);
  });

  it('a test that is started as a pipeline works in a schema of its own', async () => {
    const before = await suite.readOrders();
    const { status, message } = await scene.run({ ...load, 'test.orch.yaml': test('2') }, 'test');
    assert.deepEqual([status, message], ['SUCCESS', undefined]);
    assert.deepEqual(await suite.readOrders(), before);
    assert.deepEqual(await suite.listScratchSchemas(), []);
  });

  it('the warehouse refuses what a test would change in the environment, and it may read it', async () => {
    const before = await suite.readOrders();
    const reads = `create table orders as select * from ${schema}.orders`;
    for (const statement of [
      `insert into ${schema}.orders values ('Eve', 1)`,
      `update ${schema}.orders set amount = 0`,
      `delete from ${schema}.orders`,
      `drop table ${schema}.orders`,
      `create table ${schema}.other (id integer)`,
    ]) {
      const files = {
        'load.orch.yaml': orchestration(sql('First', statement)),
        'test.orch.yaml': orchestration(
          [
            sql('First', reads, 'Load'),
            component('Load', 'run-pipeline-under-test', 'pipelineName: load'),
          ].join(''),
        ),
      };
      const { results } = await scene.test(files, ['test.orch.yaml']);
      assert.equal(results[0]?.status, 'ERRORED', statement);
      assert.match(
        results[0]?.message ?? '',
        /load\.orch\.yaml.*First.*(?:denied|owner|privileges)/is,
        statement,
      );
    }
    assert.deepEqual(await suite.readOrders(), before);
    assert.deepEqual(await suite.listScratchSchemas(), []);
  });

  it('a test does not start with a role that may write elsewhere', async () => {
    await suite.prepare('grant');
    const { results } = await scene.test({ ...load, 'test.orch.yaml': test('2') }, ['test.orch.yaml']);
    await suite.prepare('revoke');
    assert.equal(results[0]?.status, 'ERRORED');
    assert.match(
      results[0]?.message ?? '',
      /may (?:write to the database|do more than read).*(?:REVOKE|CREATE ROLE)/s,
    );
    assert.deepEqual(await suite.listScratchSchemas(), []);
  });

  it('a test writes nothing to a store', async () => {
    const statement = "unload ('select 1') to 's3://lake/out' iam_role default";
    const files = {
      'load.orch.yaml': orchestration(sql('First', statement)),
      'test.orch.yaml': orchestration(underTest('load')),
    };
    const { results } = await scene.test(files, ['test.orch.yaml']);
    assert.match(results[0]?.message ?? '', /UNLOAD is not allowed in a test/);
  });
}
