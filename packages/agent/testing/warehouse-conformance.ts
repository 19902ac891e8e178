/** What connections to all kinds of warehouse have in common. The tests of each kind run this suite. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { ReadingConnection, WarehouseConnection } from '../src/warehouses/warehouse.ts';

export interface TestedWarehouse {
  connect(): Promise<WarehouseConnection>;
  connectReading(): Promise<ReadingConnection>;
  /** A statement that takes a minute. */
  slow: string;
  /** A statement with a fault in its second line, and the word that its message has. */
  wrong?: { sql: string; word: string };
  end(): Promise<void>;
}

export function testWarehouse(kind: string, create: () => Promise<TestedWarehouse>): void {
  describe(`${kind} as a warehouse`, async () => {
    const warehouse = await create();
    const connection = await warehouse.connect();
    after(async () => {
      await connection.close();
      await warehouse.end();
    });
    let tables = 0;
    async function makeTable(rows = 3): Promise<string> {
      tables += 1;
      const table = `t${tables}`;
      await connection.execute(`create table ${table} (id integer, name varchar(20))`);
      for (let id = 1; id <= rows; id += 1)
        await connection.execute(`insert into ${table} values (${id}, 'row ${id}')`);
      return table;
    }

    it('counts the rows that a statement changed or returned', async () => {
      const table = await makeTable();
      const count = async (sql: string) => (await connection.execute(sql)).rowCount;
      assert.equal(await count(`insert into ${table} values (4, 'd'), (5, 'e')`), 2);
      assert.equal(await count(`update ${table} set name = 'x' where id > 3`), 2);
      assert.equal(await count(`select * from ${table}`), 5);
      assert.equal(await count(`create table copy_of_${table} as select * from ${table}`), 5);
      assert.equal(await count(`delete from ${table}`), 5);
      assert.equal(await count(`drop table copy_of_${table}`), 0);
    });

    it('gives values as strings, numbers, booleans or null', async () => {
      const { columns, rows } = await connection.query(
        `select 1 as "int", 9007199254740993 as "big", cast(1.50 as decimal(10, 2)) as "dec",
          cast('12345678901234567.5' as decimal(20, 1)) as "long", cast(1.5 as double precision) as "double", true as "bool",
          null as "none", 'text' as "text", cast('2030-01-02' as date) as "date",
          cast('2030-01-02 03:04:05.006' as timestamp) as "time",
          cast('2030-01-02 03:04:05+01' as timestamp with time zone) as "moment"`,
        1,
      );
      assert.deepEqual(columns, 'int big dec long double bool none text date time moment'.split(' '));
      assert.deepEqual(rows, [
        [
          ...[1, '9007199254740993', 1.5, '12345678901234567.5', 1.5, true, null, 'text', '2030-01-02'],
          ...['2030-01-02T03:04:05.006', '2030-01-02T02:04:05.000Z'],
        ],
      ]);
    });

    it('refuses more rows than wanted, and goes on', async () => {
      const table = await makeTable();
      await assert.rejects(
        connection.query(`select * from ${table}`, 2),
        /returns more than 2 rows: add a filter or a LIMIT/,
      );
      assert.equal((await connection.query(`select * from ${table}`, 3)).rows.length, 3);
      assert.deepEqual((await connection.query(`select id from ${table} where id > 9`, 3)).columns, ['id']);
    });

    it('says what is wrong with a statement, and where', async () => {
      const { sql, word } = warehouse.wrong ?? {
        sql: 'select 1,\n  nothing_here from no_table',
        word: 'no_table',
      };
      await assert.rejects(
        connection.execute(sql),
        (error: Error) => error.message.includes(word) && /\nLINE 2: /.test(error.message),
      );
      assert.equal((await connection.execute('select 1')).rowCount, 1);
    });

    it('has transactions, and says if there is none to end', async () => {
      const table = await makeTable(0);
      await connection.execute('BEGIN TRANSACTION');
      await connection.execute(`insert into ${table} values (1, 'a')`);
      await connection.execute('ROLLBACK');
      await connection.execute('BEGIN TRANSACTION');
      await connection.execute(`insert into ${table} values (2, 'b')`);
      await connection.execute('COMMIT');
      assert.deepEqual((await connection.query(`select id from ${table}`, 9)).rows, [[2]]);
      await assert.rejects(connection.execute('ROLLBACK'), /no transaction is active/);
    });

    it('keeps temporary tables for its session only', async () => {
      const other = await warehouse.connect();
      await connection.execute('create temporary table mine (id integer)');
      await assert.rejects(other.query('select * from mine', 1), /mine/i);
      assert.equal((await connection.query('select * from mine', 1)).rows.length, 0);
      await other.close();
    });

    it('ends a statement whose limit is reached, and goes on', async () => {
      const began = performance.now();
      await assert.rejects(
        connection.execute(warehouse.slow, undefined, AbortSignal.timeout(300)),
        (error: Error) => /cancel|interrupt/i.test(error.message),
      );
      assert.ok(performance.now() - began < 30_000);
      assert.equal((await connection.execute('select 1')).rowCount, 1);
    });

    it('ends its statement and its transaction when it is closed', async () => {
      const table = await makeTable(0);
      const other = await warehouse.connect();
      await other.execute('BEGIN TRANSACTION');
      await other.execute(`insert into ${table} values (1, 'a')`);
      const running = other.execute(warehouse.slow).then(
        () => 'ended',
        () => 'failed',
      );
      await other.close();
      assert.equal(await running, 'failed');
      assert.deepEqual((await connection.query(`select * from ${table}`, 9)).rows, []);
      await assert.rejects(other.execute('select 1'), /closed/);
    });

    it('reads the first rows of a query, and changes nothing', async () => {
      const table = await makeTable();
      const bounds = { maxRows: 2, maxBytes: 10_000, rules: {} };
      const { signal } = new AbortController();
      const read = async (sql: string, input = {}) => {
        const reading = await warehouse.connectReading();
        return reading.read(sql, { ...bounds, ...input }, signal).finally(() => reading.close());
      };
      const sql = `select id, name from ${table} order by id`;
      const first = {
        columns: ['id', 'name'],
        rows: [
          [1, 'row 1'],
          [2, 'row 2'],
        ],
        isCut: true,
      };
      assert.deepEqual(await read(sql), first);
      assert.equal((await read(sql, { maxRows: 3 })).isCut, false);
      assert.equal((await read(sql, { maxRows: 3, maxBytes: 20 })).rows.length, 1);
      for (const changing of [
        `delete from ${table}`,
        `insert into ${table} values (9, 'x')`,
        `commit; delete from ${table}`,
        'create table new_table (id integer)',
      ])
        await assert.rejects(read(changing));
      assert.equal((await connection.query(`select * from ${table}`, 9)).rows.length, 3);
    });
  });
}
