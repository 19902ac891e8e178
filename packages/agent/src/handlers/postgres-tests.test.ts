/** Tests of pipelines in PostgreSQL and Redshift. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { createTestRedshift } from '../../testing/fake-redshift.ts';
import { createTestPostgres, type TestPostgres } from '../../testing/postgres.ts';
import { describeServedTests } from './served-test-suite-fixture.ts';

async function describeTests(kind: 'postgres' | 'redshift', warehouse: TestPostgres): Promise<void> {
  const { driver, target, admin, reader, runRole } = warehouse;
  const password = (await target.readSecret('warehouse-password')).reveal();
  const reading = (await target.readSecret('reader-password')).reveal();
  const secrets = new Map([
    ['warehouse-password', password],
    ['reader-password', reading],
  ]);
  const scene = await openConnectorScene(secrets, undefined, {
    [kind]: driver,
    warehouse: { kind, connection: target.connection },
  });
  after(async () => {
    await scene.close();
    await warehouse.drop();
  });
  await admin.query(`create table wh.orders (customer varchar(20), amount integer);
    insert into wh.orders values ('Ada', 10), ('Bo', 20); alter table wh.orders owner to ${runRole};
    grant usage on schema wh to ${reader}; grant create on database ${runRole} to ${runRole}`);
  const list = async (sql: string) => (await admin.query<{ name: string }>(sql)).rows.map(({ name }) => name);
  const listScratchSchemas = () =>
    list("select nspname as name from pg_namespace where nspname like 'headgate%'");
  describe(`tests of pipelines in ${kind}`, () => {
    describeServedTests({
      scene,
      schema: 'wh',
      name: (table) => table,
      prepare: (word) =>
        admin.query(
          word === 'grant' ? 'grant update on wh.orders to public' : 'revoke update on wh.orders from public',
        ),
      readOrders: () => list('select customer || amount as name from wh.orders order by 1'),
      listScratchSchemas,
    });

    it('privileges of every kind that write elsewhere are found, with the statement that takes them back', async () => {
      const sequences = kind === 'redshift' ? [] : (['sequence'] as const);
      await admin.query('create sequence if not exists wh.numbers');
      await admin.query(
        "create function wh.change() returns void language sql security definer as 'delete from wh.orders'",
      );
      await admin.query('revoke execute on function wh.change() from public');
      const grants = {
        database: ['create on database', runRole, /REVOKE CREATE ON DATABASE/],
        schema: ['create on schema', 'wh', /REVOKE CREATE ON SCHEMA wh/],
        function: ['execute on function', 'wh.change()', /REVOKE EXECUTE ON FUNCTION wh\.change/],
        table: ['delete on', 'wh.orders', /REVOKE INSERT, UPDATE, DELETE ON wh\.orders/],
        sequence: ['usage on sequence', 'wh.numbers', /REVOKE ALL ON SEQUENCE wh\.numbers/],
      } as const;
      for (const each of ['database', 'schema', 'function', 'table', ...sequences] as const) {
        const [privilege, on, words] = grants[each];
        await admin.query(`grant ${privilege} ${on} to ${reader}`);
        await assert.rejects(driver.connectScratch(target), words);
        await admin.query(`revoke ${privilege} ${on} from ${reader}`);
      }
      const { warehouse: scratch } = await driver.connectScratch(target);
      await scratch.close();
      assert.deepEqual(await listScratchSchemas(), []);
    });

    it('a login of the runs that may create no schema is told what to grant', async () => {
      await admin.query(`alter database ${runRole} owner to current_user`);
      await admin.query(`revoke create on database ${runRole} from ${runRole}`);
      await assert.rejects(driver.connectScratch(target), /GRANT CREATE ON DATABASE/);
      await admin.query(`grant create on database ${runRole} to ${runRole}`);
    });

    it('a connection that is lost drops the schema of its test', async () => {
      const { warehouse: scratch, schema } = await driver.connectScratch(target);
      assert.deepEqual(await listScratchSchemas(), [schema]);
      await scratch.execute('create table t (id integer)');
      warehouse.cut();
      await assert.rejects(scratch.execute('insert into t values (1)'), /lost/);
      await scratch.close();
      assert.deepEqual(await listScratchSchemas(), []);
    });
  });
}

await describeTests('postgres', await createTestPostgres());
await describeTests('redshift', await createTestRedshift());
