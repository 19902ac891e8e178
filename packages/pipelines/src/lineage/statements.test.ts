/** The lineage of statements that write, and of several statements of one step. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trace } from './analysis-fixture.ts';

const catalog = {
  orders: 'id customer amount',
  totals: 'customer total',
  log: 'a b',
  named: '(id + 1) amount',
};

const cases: [name: string, sql: string | string[], lines: string[]][] = [
  [
    'INSERT assigns by position to the columns of the table',
    'INSERT INTO totals SELECT customer, sum(amount) FROM orders GROUP BY customer',
    [
      'totals.customer: orders.customer',
      'totals.total: orders.amount AGGREGATED',
      'totals decided by orders.customer',
    ],
  ],
  [
    'INSERT assigns by position to the columns that it lists',
    'INSERT INTO totals (total, customer) SELECT amount, customer FROM orders',
    ['totals.total: orders.amount', 'totals.customer: orders.customer'],
  ],
  [
    'INSERT BY NAME assigns by name',
    'INSERT INTO totals BY NAME SELECT amount AS total, customer FROM orders',
    ['totals.total: orders.amount', 'totals.customer: orders.customer'],
  ],
  [
    'WITH before INSERT',
    'WITH x AS (SELECT amount FROM orders) INSERT INTO log (a) SELECT amount FROM x',
    ['log.a: orders.amount'],
  ],
  [
    'a table that is made under another name first has the sources of what it was made of',
    ['CREATE TABLE aside AS SELECT amount FROM orders', 'ALTER TABLE aside RENAME TO made'],
    ['made.amount: orders.amount'],
  ],
  [
    'INSERT of values has no inputs',
    "INSERT INTO log VALUES (1, 'x'), (2, 'y'), (3, NULL)",
    ['log.a:', 'log.b:'],
  ],
  [
    'ON CONFLICT updates from the new row',
    'INSERT INTO totals (customer, total) SELECT customer, amount FROM orders ON CONFLICT (customer) DO UPDATE SET total = totals.total + EXCLUDED.total',
    ['totals.total: orders.amount CHANGED, totals.total CHANGED', 'totals.customer: orders.customer'],
  ],
  [
    'UPDATE reads its own table and others',
    'UPDATE totals AS t SET total = t.total + o.amount FROM orders AS o WHERE o.customer = t.customer',
    [
      'totals.total: orders.amount CHANGED, totals.total CHANGED',
      'totals decided by orders.customer, totals.customer',
    ],
  ],
  [
    'DELETE writes no column',
    'DELETE FROM totals USING orders WHERE orders.customer = totals.customer',
    ['totals decided by orders.customer, totals.customer'],
  ],
  [
    'MERGE updates and inserts',
    'MERGE INTO totals AS t USING (SELECT customer, sum(amount) AS s FROM orders GROUP BY customer) AS n ON t.customer = n.customer WHEN MATCHED AND n.s > 0 THEN UPDATE SET total = n.s WHEN NOT MATCHED THEN INSERT (customer, total) VALUES (n.customer, n.s)',
    [
      'totals.total: orders.amount AGGREGATED',
      'totals.customer: orders.customer',
      'totals decided by orders.amount, orders.customer, totals.customer',
    ],
  ],
  [
    'a view has the lineage of its query',
    'CREATE OR REPLACE VIEW v(a, b) AS SELECT id, amount * 2 FROM orders',
    ['v.a: orders.id', 'v.b: orders.amount CHANGED'],
  ],
  [
    'COPY writes a file',
    "COPY (SELECT id, amount FROM orders) TO '/out/o.csv' (FORMAT csv, HEADER true)",
    ['out/o.csv.id: orders.id', 'out/o.csv.amount: orders.amount'],
  ],
  ['COPY reads a file', "COPY log FROM '/in/l.csv'", ['log.a: in/l.csv.a', 'log.b: in/l.csv.b']],
  [
    'temporary tables are followed to what they were made of',
    [
      'CREATE OR REPLACE TEMPORARY TABLE temp.main."new rows" AS SELECT customer, amount FROM orders WHERE id > 1',
      'INSERT INTO temp.main."new rows" SELECT a, b FROM log',
      'DELETE FROM totals',
      'INSERT INTO totals (customer, total) SELECT * FROM temp.main."new rows"',
      'DROP TABLE temp.main."new rows"',
    ],
    [
      'totals.customer: log.a, orders.customer',
      'totals.total: log.b, orders.amount',
      'totals decided by orders.id',
    ],
  ],
  [
    'a table that the step made is known by its columns',
    ['CREATE TABLE stage AS SELECT id AS k, amount FROM orders', 'CREATE TABLE out AS SELECT * FROM stage'],
    ['stage.k: orders.id', 'stage.amount: orders.amount', 'out.k: stage.k', 'out.amount: stage.amount'],
  ],
  [
    'a table that the step makes and drops keeps what it passes on',
    [
      'CREATE TABLE nothing (a INTEGER)',
      'DROP TABLE nothing',
      'CREATE TABLE stage AS SELECT id AS k FROM orders',
      'INSERT INTO log (a) SELECT k FROM stage',
      'DROP TABLE stage',
    ],
    ['stage dropped', 'stage.k: orders.id', 'log.a: stage.k'],
  ],
  [
    'a table that may be there already is not new',
    [
      'CREATE TABLE IF NOT EXISTS log (a INTEGER)',
      'CREATE TABLE IF NOT EXISTS log AS SELECT id AS a FROM orders',
    ],
    ['log.a: orders.id'],
  ],
  [
    'what is rolled back is not written',
    [
      'BEGIN TRANSACTION',
      'INSERT INTO log SELECT id, amount FROM orders',
      'ROLLBACK',
      'INSERT INTO log (a) SELECT id FROM orders',
    ],
    ['log.a: orders.id'],
  ],
  [
    'columns without an alias have the names that the warehouse gave them',
    'CREATE TABLE named AS SELECT id + 1, amount FROM orders',
    ['named.(id + 1): orders.id CHANGED', 'named.amount: orders.amount'],
  ],
  ['a dropped table is said', ['DROP TABLE IF EXISTS log'], ['log dropped']],
  [
    'a new name gets the values of the old one',
    ['ALTER TABLE log RENAME TO old_log'],
    ['old_log.a: log.a', 'old_log.b: log.b', 'log dropped'],
  ],
  [
    'SQL that the parser does not read is known by its tables',
    'CREATE TABLE out AS WITH o AS (SELECT * FROM orders) SELECT [x FOR x IN [1]] AS y FROM o, totals',
    [
      'out from orders, totals',
      'gap: a statement is known by its tables only: Expected: ], found: FOR at Line: 1, Column: 64',
    ],
  ],
  [
    'settings have no lineage',
    [
      'SET threads = 1',
      'SET VARIABLE x = (SELECT 1)',
      'CREATE SCHEMA IF NOT EXISTS "a.b"',
      "COMMENT ON TABLE log IS 'x'",
      'EXPLAIN SELECT 1',
    ],
    [],
  ],
];

for (const [name, sql, lines] of cases) test(name, () => assert.deepEqual(trace(sql, catalog), lines));
