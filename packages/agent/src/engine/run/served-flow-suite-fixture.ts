/** The same transformations give the same rows in DuckDB and in a warehouse that is reached over the network. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { TestPostgres } from '../../../testing/postgres.ts';
import { createFixture } from './engine-fixture.ts';
import { createFlow, readTable } from './flow-fixture.ts';
import { type Components, flows } from './served-flows-fixture.ts';

/** `admin` runs the SQL that makes the tables. */
type TestServed = Pick<TestPostgres, 'driver' | 'target' | 'runRole' | 'drop'> & {
  admin: { query(sql: string): Promise<unknown> };
};

interface Served {
  /** As in requests of runs. */
  warehouse: string;
  create(): Promise<TestServed>;
  /** What the warehouse cannot do, with the message of the run. */
  refused: Readonly<Record<string, RegExp>>;
  /** Its message for a row that would be changed twice. */
  changedTwice: RegExp;
}

export function testServedFlows(kind: string, { warehouse, create, refused, changedTwice }: Served): void {
  describe(`transformations in ${kind}`, async () => {
    const postgres = await create();
    const connection = await postgres.driver.connect(postgres.target);
    const duckdb = await createFlow();
    const other = await createFixture(undefined, undefined, undefined, connection);
    after(async () => {
      duckdb.dispose();
      other.dispose();
      await connection.close();
      await postgres.drop();
    });

    const tables = [
      `create table sales as select * from (values ('a', 1, 10, 1.5, 'x,y'), ('a', 2, 30, 2.25, 'z'), ('b', 3, null, 0.5, ''),
    ('b', 4, 20, null, 'It''s 100%'), ('c', 5, 20, 1.5, null)) t(region, id, amount, price, note)`,
      "create table later as select * from (values ('a', 1, 11), ('b', 3, null), ('d', 9, 5)) t(region, id, amount)",
      'create table wide as select * from (values (1, 10, 20), (2, null, 40)) t(id, q1, q2)',
      'create table target (id integer primary key, region varchar, amount integer)',
    ];
    // By the operator: the SQL is not that of every warehouse.
    await postgres.admin.query(`set role ${postgres.runRole}; set search_path to wh`);
    for (const statement of tables) {
      await duckdb.sql(statement);
      await postgres.admin.query(statement);
    }

    const request = { warehouse, defaults: { database: 'shop', schema: 'wh' } };

    async function runServed(components: Components) {
      const text = JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } });
      await other.publish({ 'flow.tran.yaml': text });
      return other.run('flow', request);
    }

    const write = (targetTable: string) => ({
      type: 'rewrite-table',
      sources: ['Last'],
      parameters: { targetTable },
    });
    /** Rows in any order, with numbers to 9 digits: PostgreSQL gives an average as a text with all its digits. */
    const round = (cell: unknown) =>
      typeof cell === 'number' || /^-?\d+\.\d+$/.test(String(cell))
        ? Number(Number(cell).toPrecision(9))
        : cell;
    const sort = (rows: unknown[][]) => rows.map((row) => JSON.stringify(row.map(round))).sort();

    /** Runs `Last` in both. Returns the rows. */
    async function compare(components: Components): Promise<unknown[][]> {
      const expected = await duckdb.rowsOf(components);
      assert.deepEqual(await runServed({ ...components, Out: write('result') }), { status: 'SUCCESS' });
      const { rows } = await connection.query('select * from result', 1_000);
      assert.deepEqual(sort(rows), sort(expected));
      return rows;
    }

    describe('a transformation gives the same rows as in DuckDB:', () => {
      for (const [name, components] of Object.entries(flows))
        it(name, async () => {
          const message = refused[name];
          if (message === undefined) await compare(components);
          else
            assert.match((await runServed({ ...components, Out: write('result') })).message ?? '', message);
        });
    });

    describe('what writes', () => {
      const from = (columns: readonly string[] = ['id', 'region', 'amount']) => readTable('sales', columns);
      async function compareTable(table: string, components: Components) {
        assert.deepEqual(await duckdb.run(components), { status: 'SUCCESS' });
        assert.deepEqual(await runServed(components), { status: 'SUCCESS' });
        const { rows } = await connection.query(`select * from ${table}`, 1_000);
        assert.deepEqual(sort(rows), sort(await duckdb.fixture.rows(`select * from ${table}`)));
        return rows.length;
      }
      const output = (parameters: object, type = 'table-output') => ({ type, sources: ['In'], parameters });

      it('appends, truncates, and reads what it replaces', async () => {
        const Out = (outputMode: string) => output({ targetTable: 'target', outputMode });
        assert.equal(await compareTable('target', { In: from(), Out: Out('Append') }), 5);
        assert.equal(await compareTable('target', { In: from(), Out: Out('Truncate') }), 5);
        const In = {
          type: 'filter',
          sources: ['T'],
          parameters: { filterConditions: [['id', 'Is', 'Less than', '4']] },
        };
        assert.equal(await compareTable('target', { T: readTable('target'), In, Out: Out('Truncate') }), 3);
      });

      it('updates, deletes and inserts rows', async () => {
        const Out = output(
          {
            targetTable: 'target',
            targetAlias: 't',
            sourceAlias: 's',
            joinExpression: [['"t"."id" = "s"."id"', 'Case']],
            whenMatched: [
              ['"s"."amount" is null', 'Delete'],
              ['true', 'Update'],
            ],
            updateMapping: [['amount', 'amount']],
            includeNotMatched: 'Yes',
            insertMapping: ['id', 'region', 'amount'].map((column) => [column, column]),
          },
          'table-update',
        );
        assert.equal(await compareTable('target', { In: readTable('later'), Out }), 3);
      });

      it('refuses to change a row twice', async () => {
        const In = {
          type: 'sql',
          parameters: { query: 'select 1 as id, 5 as amount union all select 1, 6' },
        };
        const Out = output(
          {
            targetTable: 'target',
            joinExpression: [['"target"."id" = "input"."id"', 'Case']],
            whenMatched: [['true', 'Update']],
            updateMapping: [['amount', 'amount']],
          },
          'table-update',
        );
        const { message = '' } = await runServed({ In, Out });
        assert.match(message, changedTwice);
      });

      it('makes views, and replaces tables that its query reads', async () => {
        const Out = output({ viewName: 'seen' }, 'create-view');
        assert.equal(await compareTable('seen', { In: from(), Out }), 5);
        await connection.execute('drop view seen');
        const again = { In: readTable('later'), Out: output({ targetTable: 'later' }, 'rewrite-table') };
        assert.equal(await compareTable('later', again), 3);
      });

      it('says in its own words what an assert found', async () => {
        const Last = {
          type: 'assert-view',
          sources: ['In'],
          parameters: { rowCountComparisonType: 'Equal To', lowerValue: '4' },
        };
        const { message = '' } = await runServed({ In: from(), Last });
        assert.match(message, /"Last" failed: the source has 5 rows, but should have = 4/);
      });

      it('leaves nothing of a transaction that fails', async () => {
        await connection.execute('create table strict (id integer not null)');
        await connection.execute('insert into strict values (7)');
        const In = { type: 'sql', parameters: { query: 'select 1 as id union all select null' } };
        const { status } = await runServed({
          In,
          Out: output({ targetTable: 'strict', outputMode: 'Truncate' }),
        });
        assert.equal(status, 'FAILED');
        assert.deepEqual((await connection.query('select * from strict', 9)).rows, [[7]]);
      });
    });
  });
}
