/** Test fixture: runs a transformation whose last component is called `Last`, on a real DuckDB. */
import assert from 'node:assert/strict';
import { createFixture, type Fixture } from './engine-fixture.ts';

export interface Flow {
  fixture: Fixture;
  /** Runs statements. */
  sql(...statements: string[]): Promise<void>;
  /** The rows of `Last`, sorted. */
  rowsOf(components: Record<string, object>): Promise<unknown[][]>;
  /** The rows of one component over a table, sorted. */
  apply(type: string, table: string, parameters: object): Promise<unknown[][]>;
  /** The names of the columns of the rows that were made last. */
  columns(): Promise<unknown[]>;
  /** Runs a transformation as it is. */
  run(components: Record<string, object>): ReturnType<Fixture['run']>;
  /** The message of a run that fails. */
  failureOf(components: Record<string, object>): Promise<string>;
  dispose(): void;
}

export const readTable = (targetTable: string, columnNames: readonly string[] = []) => ({
  type: 'table-input',
  parameters: {
    database: '[Environment Default]',
    schema: '[Environment Default]',
    targetTable,
    columnNames,
  },
});

export async function createFlow(): Promise<Flow> {
  const fixture = await createFixture();
  const flow: Flow = {
    fixture,
    async sql(...statements) {
      for (const statement of statements) await fixture.connection.run(statement);
    },
    async rowsOf(components) {
      const Out = {
        type: 'rewrite-table',
        sources: ['Last'],
        parameters: { targetTable: 'result', orderBy: null },
      };
      assert.deepEqual(await flow.run({ ...components, Out }), { status: 'SUCCESS' });
      return fixture.rows('select * from result order by all');
    },
    apply: (type, table, parameters) =>
      flow.rowsOf({ In: readTable(table), Last: { type, sources: ['In'], parameters } }),
    async columns() {
      const sql =
        "select column_name from information_schema.columns where table_name = 'result' order by ordinal_position";
      return (await fixture.rows(sql)).flat();
    },
    async run(components) {
      const text = JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } });
      await fixture.publish({ 'flow.tran.yaml': text });
      return fixture.run('flow');
    },
    async failureOf(components) {
      const { status, message = '' } = await flow.run(components);
      assert.equal(status, 'FAILED');
      return message;
    },
    dispose: () => fixture.dispose(),
  };
  return flow;
}
