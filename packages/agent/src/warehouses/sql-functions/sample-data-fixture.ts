/** Rows for the tests of functions, and the comparison of results. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { SourceDialect } from '../../../../pipelines/src/sql/functions/index.ts';
import { type BuiltInFunctions, checkCalls, readBuiltInFunctions } from '../statements/duckdb-functions.ts';
import { translateExpression } from './translate-expression-fixture.ts';

/** An expression over the sample, and its result as text. */
export type Case = readonly [expression: string, expected: string | null];

const sample = `create table sample as select
  date '2024-02-29' as d, timestamp '2024-02-29 13:14:15.678901' as ts, timestamptz '2024-02-29 13:14:15+00' as tz,
  '2024-02-29' as dt, '2024-02-29 13:14:15' as tst, 42 as i, -7 as neg, 2.5::double as x, 1234.50::decimal(10, 2) as amount,
  'Hello World' as s, '' as e, null::varchar as nul, null::integer as nuli, null::date as nuld, true as b, '7' as digits,
  '{"a":1,"b":{"c":[10,20,null]},"s":"text","n":null,"x y":2.5}'::json as j, '[1,"two",null,3]'::json as arr`;
const sales = `create table sales as select * from (values
  ('a', 1, 10, 'x'), ('a', 2, 20, 'y'), ('a', 3, null, 'x'), ('b', 1, 5, null), ('c', 1, null, null)
) t(g, n, v, label)`;

/** One test for each case. @param from the relation that the expressions read */
export function describeCases(
  title: string,
  cases: readonly Case[],
  { dialect = 'snowflake', from = 'sample' }: { dialect?: SourceDialect; from?: string } = {},
): void {
  describe(title, { timeout: 60_000 }, () => {
    const sampled = openSample();
    for (const [expression, expected] of cases) {
      it(`${expression} → ${expected ?? 'NULL'}`, async () => {
        const sql = translateExpression(expression, dialect);
        assert.deepEqual(await sampled.read(sql, from), expected, sql);
      });
    }
  });
}

/** A database with the sample, open during the tests around. Functions that the warehouse refuses are refused. */
export function openSample() {
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;
  let functions: BuiltInFunctions;
  before(async () => {
    instance = await DuckDBInstance.create(':memory:');
    connection = await instance.connect();
    functions = await readBuiltInFunctions(connection);
    await connection.run("set TimeZone = 'UTC'");
    await connection.run(sample);
    await connection.run(sales);
  });
  after(() => {
    connection.closeSync();
    instance.closeSync();
  });
  return {
    /** The value as text; several rows are joined by a space. */
    async read(sql: string, from = 'sample'): Promise<string | null> {
      checkCalls(`select ${sql}`, functions);
      const reader = await connection.runAndReadAll(`select cast((${sql}) as varchar) from ${from}`);
      const values = reader.getRows().map(([value]) => (value === null ? null : String(value)));
      return values.length === 1 ? (values[0] ?? null) : values.map((value) => value ?? 'NULL').join(' ');
    },
  };
}
