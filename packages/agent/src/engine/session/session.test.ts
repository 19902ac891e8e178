/** Which statements of a run go to which session of its warehouse, and which of them at the same time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Warehouse } from '../ports/ports.ts';
import { createSession } from './session.ts';

/** Statements run until they are finished. */
function createWarehouse() {
  const running = new Map<string, { session: number; end(error?: Error): void }>();
  const started: string[] = [];
  const run = (sql: string, session = 0) =>
    new Promise<void>((resolve, reject) => {
      started.push(`${session}: ${sql}`);
      running.set(sql, { session, end: (error) => (error === undefined ? resolve() : reject(error)) });
    }).finally(() => running.delete(sql));
  const warehouse: Warehouse = {
    async execute(sql, session) {
      await run(sql, session);
      return { rowCount: 1 };
    },
    async query(sql, _maxRows, session) {
      await run(sql, session);
      return { columns: [], rows: [] };
    },
  };
  async function end(sql: string, error?: Error) {
    running.get(sql)?.end(error);
    await nextTurn();
  }
  return { warehouse, started, end, list: () => [...running.keys()] };
}

describe('the sessions of a run', () => {
  it('run single statements at the same time, as many as there are sessions', async () => {
    const { warehouse, started, end, list } = createWarehouse();
    const session = createSession(warehouse, 3);
    const all = ['select 1', 'insert into a select 2', 'create table b (c int)', 'update d set e = 1'];
    const exit = Promise.all(all.map((sql) => session.execute(sql)));
    await nextTurn();
    assert.deepEqual(list(), all.slice(0, 3));
    await end('insert into a select 2');
    assert.deepEqual(started.at(-1), '1: update d set e = 1');
    for (const sql of all) await end(sql);
    await exit;
  });

  it('run a transaction alone, in its order', async () => {
    const { warehouse, end, list } = createWarehouse();
    const session = createSession(warehouse, 3);
    const script = session.executeScript(['BEGIN', 'insert into a select 1', 'COMMIT']);
    const first = session.execute('select 1');
    await nextTurn();
    for (const sql of ['BEGIN', 'insert into a select 1', 'COMMIT']) {
      assert.deepEqual(list(), [sql]);
      await end(sql);
    }
    await end('ROLLBACK', new Error('no transaction is active'));
    await script;
    assert.deepEqual(list(), ['select 1']);
    const list2 = session.executeAll({ statements: ['delete from a', 'insert into a select 2'], counted: 1 });
    await nextTurn();
    assert.deepEqual(list(), ['select 1'], 'it waits for statements that run');
    await end('select 1');
    await first;
    for (const sql of ['BEGIN TRANSACTION', 'delete from a', 'insert into a select 2', 'COMMIT'])
      await end(sql);
    assert.deepEqual(await list2, { rowCount: 1 });
  });

  for (const binding of [
    'create temp table t (a int)',
    'CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1',
    'set variable x = 1',
    'use other',
    "alter session set timezone = 'UTC'",
    'select setseed(0.5)',
    '-- a comment\nuse other',
    'select "nextval"(\'s\')',
  ])
    it(`stay in one session after: ${binding}`, async () => {
      const { warehouse, started, end, list } = createWarehouse();
      const session = createSession(warehouse, 3);
      const all = [binding, 'select 1', 'select 2'];
      const exit = Promise.all(all.map((sql) => session.execute(sql)));
      await nextTurn();
      for (const sql of all) {
        assert.deepEqual(list(), [sql]);
        await end(sql);
      }
      await exit;
      assert.deepEqual(
        started,
        all.map((sql) => `0: ${sql}`),
      );
    });

  for (const reading of [
    'insert into a.t select 1 where not exists (select from t where b = 1)',
    'MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT',
    'with s as (select 1) insert or replace into "T" (b) select max(b) + 1 from t',
    'update t set b = (select max(b) + 1 from t) where c = 1',
  ])
    it(`run a statement alone that reads the table it writes: ${reading}`, async () => {
      const { warehouse, end, list } = createWarehouse();
      const session = createSession(warehouse, 3);
      const all = [reading, `${reading} `, 'insert into t select 1', 'delete from t where b = 2'];
      const exit = Promise.all(all.map((sql) => session.execute(sql)));
      await nextTurn();
      for (const sql of all.slice(0, 2)) {
        assert.deepEqual(list(), [sql]);
        await end(sql);
      }
      assert.deepEqual(list(), all.slice(2));
      for (const sql of all.slice(2)) await end(sql);
      await exit;
    });

  it('repeat a statement alone if it met another one, and no other failure', async () => {
    const { warehouse, started, end, list } = createWarehouse();
    const session = createSession(warehouse, 2);
    const first = session.execute('update a set b = 1');
    const second = session.execute('update a set b = 2');
    const third = assert.rejects(session.execute('update a set b = 3'), /no such column/);
    await nextTurn();
    await end(
      'update a set b = 2',
      new Error('Constraint Error: Duplicate key "a: 1" violates primary key constraint.'),
    );
    await end('update a set b = 3', new Error('no such column'));
    await third;
    assert.deepEqual(list(), ['update a set b = 1']);
    await end('update a set b = 1');
    await first;
    assert.deepEqual(list(), ['update a set b = 2']);
    await end('update a set b = 2');
    await second;
    assert.equal(started.filter((each) => each.endsWith('b = 2')).length, 2);
  });
});
