/** Tests of pipelines in Snowflake. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { createTestSnowflake } from '../../testing/snowflake.ts';
import { component, orchestration, sql } from '../../testing/tested-pipelines.ts';
import { describeServedTests } from './served-test-suite-fixture.ts';

const snowflake = await createTestSnowflake();
const { driver, fake } = snowflake;
const target = snowflake.change({ readUsername: 'tester' });
const scene = await openConnectorScene(new Map(snowflake.secrets), undefined, {
  snowflake: driver,
  warehouse: { kind: 'snowflake', connection: target.connection },
});
after(async () => {
  await scene.close();
  await snowflake.drop();
});
const owner = await driver.connect(target);
await owner.execute('create table orders (customer varchar(20), amount integer)');
await owner.execute("insert into orders values ('Ada', 10), ('Bo', 20)");
const tester = fake.users.get('TESTER') ?? assert.fail();

const { roles } = tester;

/** Changes what a role of the user for tests is granted. */
function grant(role: string, grants: (typeof tester.roles)[string]): () => void {
  fake.users.set('TESTER', { ...tester, roles: { ...roles, [role]: grants } });
  return () => void fake.users.set('TESTER', tester);
}

describe('tests of pipelines in snowflake', () => {
  let revoke: () => void = () => undefined;
  describeServedTests({
    scene,
    schema: 'wh',
    name: (table) => table.toUpperCase(),
    async prepare(word) {
      if (word === 'grant') revoke = grant('TABLES', [['UPDATE', 'TABLE', 'SHOP.WH.ORDERS']]);
      else revoke();
    },
    readOrders: async () =>
      (await owner.query('select customer, amount from orders order by 1', 9)).rows.map(String),
    listScratchSchemas: async () => [...fake.schemas.made.keys()],
  });

  it('a test loads objects into its own schema, and deletes none of them', async () => {
    const files = (purgeFiles: string) => ({
      'load.orch.yaml': orchestration(
        component(
          'First',
          's3-load',
          `s3ObjectPrefix: s3://lake/in/\nauthentication: None\ntargetTable: COPIED\npurgeFiles: "${purgeFiles}"`,
        ),
      ),
      'test.orch.yaml': orchestration(
        [
          sql('First', 'create table copied (id integer)', 'Under test'),
          component('Under test', 'run-pipeline-under-test', 'pipelineName: load', 'Check'),
          component('Check', 'assert-table', 'tableName: COPIED'),
        ].join(''),
      ),
    });
    const { sent } = fake.copies;
    const purged = await scene.test(files('Yes'), ['test.orch.yaml']);
    assert.match(purged.results[0]?.message ?? '', /a test cannot delete objects of a store/);
    assert.deepEqual(sent, []);
    const { results } = await scene.test(files('No'), ['test.orch.yaml']);
    assert.equal(results[0]?.status, 'PASSED', JSON.stringify(results));
    assert.match(sent[0] ?? '', /^COPY INTO "HEADGATE_TEST_\w+"\."COPIED"/);
  });

  it('privileges of everyone and of the other roles of the user count, because SQL may change the role', async () => {
    for (const [role, privilege, on, words] of [
      ['PUBLIC', 'INSERT', 'TABLE', /PUBLIC, which everyone has, has INSERT on TABLE/],
      ['OTHER', 'UPDATE', 'TABLE', /OTHER has UPDATE on TABLE/],
      ['OTHER', 'USAGE', 'PROCEDURE', /OTHER has USAGE on PROCEDURE/],
    ] as const) {
      const undo = grant(role, [[privilege, on, 'SHOP.WH.ORDERS']]);
      await assert.rejects(driver.connectScratch(target), words);
      undo();
    }
    const undo = grant('PUBLIC', [['USAGE', 'FUNCTION', 'SNOWFLAKE.ML.FORECAST']]);
    const { warehouse, schema } = await driver.connectScratch(target);
    // The grants of a running test do not keep people from reading.
    await (await driver.connectReading(target)).close();
    const made = fake.schemas.made.get(schema);
    assert.deepEqual(
      [made?.owner, made?.creator, made?.privileges.includes('CREATE TABLE')],
      ['LOADING', 'READING', true],
    );
    await warehouse.close();
    undo();
    assert.equal(fake.schemas.made.size, 0);
  });

  it('a test writes nothing to a stage', async () => {
    const { warehouse } = await driver.connectScratch(target);
    for (const statement of [
      "copy into 's3://lake/out' from orders credentials = (aws_key_id = 'a')",
      'copy into @~/out from orders',
      "begin copy into 'gcs://lake/out' from orders; end",
    ])
      await assert.rejects(warehouse.execute(statement), /writes no files to a stage/);
    await warehouse.close();
  });
});
