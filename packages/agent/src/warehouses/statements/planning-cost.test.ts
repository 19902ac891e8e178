import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { SqlError } from '@headgate/pipelines/user-sql';
import { prepareConverted } from './duckdb-prepare.ts';
import { measurePlanning, planningLimit } from './planning-cost.ts';

const chain = (count: number, operator = '||') => `select ${Array(count).fill('v').join(operator)} from t`;

describe('the time to plan', () => {
  it('is the cube of how deep an expression is', () => {
    for (const sql of [
      chain(600),
      chain(600, ' + '),
      `select ${'lower('.repeat(600)}v${')'.repeat(600)} from t`,
    ]) {
      const cost = measurePlanning(sql);
      assert.ok(cost > 0.9 * 600 ** 3 && cost < 1.1 * 600 ** 3, `${cost}`);
    }
  });

  it('is small for lists, conditions, rows and unions', () => {
    for (const sql of [
      `select ${Array(5_000).fill('a + b').join(', ')} from t`,
      `select 1 from t where ${Array(5_000).fill('a + 1 > 2').join(' and ')}`,
      `select concat(${Array(5_000).fill('v').join(', ')}) from t`,
      `insert into t values ${Array(5_000).fill('(1, -2)').join(', ')}`,
      Array(1_000).fill('select a + b from t').join(' union all '),
      `select case ${Array(1_000).fill('when a = 1 then b + 1').join(' ')} end from t`,
      `select '${'||'.repeat(5_000)}' as "${'+'.repeat(5_000)}"`,
    ])
      assert.ok(measurePlanning(sql) < planningLimit / 1_000, sql.slice(0, 80));
  });

  it('is refused above the limit, in one expression or in several', () => {
    for (const sql of [chain(1_005), Array(40).fill(chain(300)).join(' union all ')])
      assert.throws(
        () => measurePlanning(sql),
        (error) => error instanceof SqlError && /take too long to plan/.test(error.message),
      );
  });

  it('is judged before DuckDB plans', async () => {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    try {
      await connection.run('create table t (v json)');
      const sql = chain(800);
      const statements = await connection.extractStatements(sql);
      await assert.rejects(prepareConverted(connection, sql, statements, true), /write concat\(a, b, …\)/);
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  });
});
