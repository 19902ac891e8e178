/** Concurrent iterations of a run in DuckDB. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { grid, number, renderOrchestration, start } from '../engine/run/pipeline-fixture.ts';
import { removeTree } from '../host/folders.ts';
import { createPoolFixture } from '../pool/pool-fixture.ts';
import { createScratchFixture } from '../warehouses/scratch/duckdb-scratch-fixture.ts';
import { createRunSessions } from './pipeline-execution.ts';

const scratch = await createScratchFixture();
const pool = await createPoolFixture();
after(async () => {
  await pool.close();
  await scratch.driver.close();
  await removeTree(scratch.root);
});

const count = 40;

/** Runs a script in many iterations at the same time. */
async function iterate(...sqlScripts: string[]) {
  const steps = sqlScripts.map((sqlScript, index) => [
    `Sql ${index}`,
    { type: 'sql-script', parameters: { sqlScript } },
  ]);
  const iterator = (target: string) => ({
    type: 'grid-iterator',
    iterationTarget: target,
    parameters: {
      gridVariable: 'rows',
      gridIteratorVariableMapping: [['n', 'n']],
      concurrency: 'Concurrent',
    },
  });
  const iterators = sqlScripts.map((_, index) => [`Each ${index}`, iterator(`Sql ${index}`)] as const);
  const components = {
    Start: start('Each 0'),
    ...Object.fromEntries(
      iterators.map(([name, each], index) => {
        const next = iterators[index + 1]?.[0];
        return [name, { ...each, ...(next === undefined ? {} : { transitions: { success: [next] } }) }];
      }),
    ),
    ...Object.fromEntries(steps),
  };
  const rows = Array.from({ length: count }, (_, index) => [index]);
  const pipeline = renderOrchestration(components, { n: number('0'), rows: grid({ n: 'NUMBER' }, rows) });
  const warehouse = createRunSessions(() => scratch.driver.connect(scratch.place));
  const sessions = new Set<number>();
  try {
    const outcome = await pool.run(pipeline, {
      warehouse: {
        execute(sql, session = 0) {
          sessions.add(session);
          return warehouse.execute(sql, session);
        },
        queryText: (sql, maxRows, session) => warehouse.queryText(sql, maxRows, session),
      },
    });
    return { outcome, sessions: sessions.size };
  } finally {
    await warehouse.close();
  }
}

describe('concurrent iterations', () => {
  it('use several sessions, and each has its effect once', async () => {
    await scratch.real.execute('create table counted (id int, n int)');
    await scratch.real.execute('insert into counted values (0, 0)');
    const { outcome, sessions } = await iterate(
      'update counted set n = n + 1 where id = 0',
      'insert into counted values (${n} + 1, 0)',
      'create or replace table replaced as select ${n} as n',
    );
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    assert.ok(sessions > 1);
    const { rows } = await scratch.real.query('select count(*), max(n), sum(id) from counted', 1);
    assert.deepEqual(rows, [[count + 1, count, (count * (count + 1)) / 2]]);
    assert.equal((await scratch.real.query('select * from replaced', 10)).rows.length, 1);
  });

  it('share the temporary tables of the run', async () => {
    const { outcome, sessions } = await iterate(
      'create temp table if not exists seen (n int)',
      'insert into seen values (${n})',
      `create or replace table all_seen as select case when count(*) = ${count} then 1 else error(count(*)::varchar) end as a from seen`,
    );
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    assert.equal(sessions, 1);
  });

  it('each have their own variables of the session', async () => {
    await scratch.real.execute('create table chosen (n int, x int)');
    const { outcome } = await iterate('SET x = ${n}; INSERT INTO chosen SELECT ${n}, $x');
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    const { rows } = await scratch.real.query('select count(*), count(*) filter (n <> x) from chosen', 1);
    assert.deepEqual(rows, [[count, 0]]);
  });
});
