/**
 * Statements with many uses of VARIANTs are converted in bounded time: nothing else of the process goes on meanwhile.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { findVariantUses, listTypeQuestions, readNodes, SqlError } from '@headgate/pipelines/user-sql';
import { convertVariants } from './statements/duckdb-variants.ts';

let instance: DuckDBInstance;
let connection: Awaited<ReturnType<DuckDBInstance['connect']>>;
before(async () => {
  instance = await DuckDBInstance.create(':memory:');
  connection = await instance.connect();
  await connection.run('create table t (v json, i integer)');
});
after(() => {
  connection.closeSync();
  instance.closeSync();
});

/** The plan as DuckDB gives it, with as many comparisons as are asked for. */
async function planComparisons(count: number) {
  const sql = `select ${Array(count).fill("v = 'a'").join(', ')} from t`;
  const statement = readNodes(sql);
  assert.ok(statement !== undefined);
  const [question] = listTypeQuestions(statement);
  assert.ok(question !== undefined);
  const text = question.sql.replaceAll("'", "''");
  const reader = await connection.runAndReadAll(`select json_serialize_plan('${text}', optimize := false)`);
  const { plans } = JSON.parse(String(reader.getRows()[0]?.[0]));
  return () => findVariantUses(statement, question, plans);
}

describe('uses of VARIANTs', () => {
  it('are all found in a statement of 500', async () => {
    const find = await planComparisons(500);
    assert.equal(new Set(find().map(({ from }) => from)).size, 500);
  });

  it('are those of a column in parentheses too', async () => {
    assert.equal(
      await convertVariants(connection, 'select (v)::varchar, cast((v) as varchar), (i)::varchar, v from t'),
      "select (json_extract_string(v, '$'))::varchar, cast((json_extract_string(v, '$')) as varchar), (i)::varchar, v from t",
    );
  });

  it('are refused if they are too many', async () => {
    const find = await planComparisons(3_000);
    assert.throws(find, (error) => error instanceof SqlError && /in too many places/.test(error.message));
  });

  it('are refused if the queries of a MERGE repeat too much', async () => {
    const source = `(select v, i from t where i not in (${Array(20_000).fill('1').join(', ')})) as q`;
    const action = "when matched and q.v = 'a' then update set i = 1 ";
    const sql = `merge into t using ${source} on t.i = q.i ${action.repeat(1_000)}`;
    await assert.rejects(convertVariants(connection, sql), /the statement has too many parts/);
  });
});
