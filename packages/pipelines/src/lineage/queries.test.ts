/** The lineage of queries, by hard cases. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sqlRewriter } from '../sql/rewriter.ts';
import { trace } from './analysis-fixture.ts';

const catalog = {
  orders: 'id customer amount day',
  customers: 'id name city',
  visits: 'customer day pages',
  events: 'id body tags',
};
/** The lineage of a table that is made of a query. */
const of = (query: string) => trace(`CREATE TABLE out AS ${query}`, catalog);

const cases: [name: string, query: string, lines: string[]][] = [
  [
    'a column passes on its value',
    'SELECT id, amount AS total FROM orders',
    ['out.id: orders.id', 'out.total: orders.amount'],
  ],
  [
    'a star is expanded by the known columns',
    'SELECT * EXCLUDE (day), amount * 2 AS twice FROM orders',
    [
      'out.id: orders.id',
      'out.customer: orders.customer',
      'out.amount: orders.amount',
      'out.twice: orders.amount CHANGED',
    ],
  ],
  [
    'REPLACE changes a column in its place',
    'SELECT * REPLACE (upper(name) AS name) FROM customers',
    ['out.id: customers.id', 'out.name: customers.name CHANGED', 'out.city: customers.city'],
  ],
  [
    'RENAME keeps the value',
    'SELECT * EXCLUDE (city) RENAME (name AS "Full name") FROM customers',
    ['out.id: customers.id', 'out.Full name: customers.name'],
  ],
  [
    'a filter decides rows',
    'SELECT id FROM orders WHERE amount > 5 AND day IS NOT NULL',
    ['out.id: orders.id', 'out decided by orders.amount, orders.day'],
  ],
  [
    'columns without a table are found in a join',
    'SELECT amount, city FROM orders JOIN customers ON customer = customers.id',
    ['out.amount: orders.amount', 'out.city: customers.city', 'out decided by customers.id, orders.customer'],
  ],
  [
    'USING merges the columns of a full join',
    'SELECT * FROM visits FULL JOIN (SELECT customer, amount FROM orders) AS o USING (customer)',
    [
      'out.customer: orders.customer, visits.customer',
      'out.day: visits.day',
      'out.pages: visits.pages',
      'out.amount: orders.amount',
      'out decided by orders.customer, visits.customer',
    ],
  ],
  [
    'a natural join compares the columns that both have',
    'SELECT pages, amount FROM visits NATURAL JOIN orders',
    [
      'out.pages: visits.pages',
      'out.amount: orders.amount',
      'out decided by orders.customer, orders.day, visits.customer, visits.day',
    ],
  ],
  [
    'an aggregate is of several rows, and its groups decide',
    "SELECT customer, sum(amount) AS total, count(*) AS n FROM orders GROUP BY customer HAVING max(day) > DATE '2026-01-01'",
    [
      'out.customer: orders.customer',
      'out.total: orders.amount AGGREGATED',
      'out.n:',
      'out decided by orders.customer, orders.day',
    ],
  ],
  [
    'GROUP BY ALL groups by what is not aggregated',
    'SELECT upper(customer) AS c, avg(amount) AS a FROM orders GROUP BY ALL',
    ['out.c: orders.customer CHANGED', 'out.a: orders.amount AGGREGATED', 'out decided by orders.customer'],
  ],
  [
    'a window is divided and ordered by columns that are apart',
    'SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY day) AS running, row_number() OVER w AS n FROM orders WINDOW w AS (ORDER BY id)',
    [
      'out.id: orders.id',
      'out.running: orders.amount AGGREGATED',
      'out.n:',
      'out decided by orders.customer, orders.day, orders.id',
    ],
  ],
  [
    'QUALIFY decides rows',
    'SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY day DESC) = 1',
    ['out.id: orders.id', 'out decided by orders.customer, orders.day'],
  ],
  [
    'lag reads IGNORE NULLS within its parentheses',
    'SELECT lag(amount, 1 IGNORE NULLS) OVER (ORDER BY day) AS before FROM orders',
    ['out.before: orders.amount CHANGED', 'out decided by orders.day'],
  ],
  [
    'common tables are followed through each other',
    'WITH a AS MATERIALIZED (SELECT id, amount + 1 AS x FROM orders), b AS (SELECT x * 2 AS y FROM a WHERE id > 3) SELECT sum(y) AS z FROM b',
    ['out.z: orders.amount AGGREGATED', 'out decided by orders.id'],
  ],
  [
    'a common table hides a table of the same name',
    'WITH orders AS (SELECT name AS id FROM customers) SELECT id FROM orders',
    ['out.id: customers.name'],
  ],
  [
    'a recursive table is followed until nothing is new',
    'WITH RECURSIVE r(n, s) AS (SELECT id, amount FROM orders UNION ALL SELECT s, n FROM r WHERE n < 10) SELECT n FROM r',
    ['out.n: orders.amount, orders.id', 'out decided by orders.amount, orders.id'],
  ],
  [
    'UNION joins by position',
    'SELECT id, name FROM customers UNION ALL SELECT customer, city FROM (SELECT customer, upper(day) AS city FROM orders) AS o',
    ['out.id: customers.id, orders.customer', 'out.name: customers.name, orders.day CHANGED'],
  ],
  [
    'UNION BY NAME joins by name',
    'SELECT id, name FROM customers UNION ALL BY NAME SELECT day, id FROM orders',
    ['out.id: customers.id, orders.id', 'out.name: customers.name', 'out.day: orders.day'],
  ],
  [
    'EXCEPT passes on the first query only',
    'SELECT id FROM customers EXCEPT SELECT customer FROM orders',
    ['out.id: customers.id', 'out decided by customers.id, orders.customer'],
  ],
  [
    'a scalar subquery may use the row around it',
    'SELECT name, (SELECT max(amount) FROM orders AS o WHERE o.customer = c.id) AS most FROM customers AS c',
    [
      'out.name: customers.name',
      'out.most: orders.amount AGGREGATED',
      'out decided by customers.id, orders.customer',
    ],
  ],
  [
    'IN and EXISTS only decide',
    'SELECT name FROM customers AS c WHERE id IN (SELECT customer FROM visits WHERE pages > 3) AND EXISTS (SELECT 1 FROM orders AS o WHERE o.customer = c.id)',
    [
      'out.name: customers.name',
      'out decided by customers.id, orders.customer, visits.customer, visits.pages',
    ],
  ],
  [
    'a lateral subquery unnests a list',
    'SELECT e.id, u.tag FROM events AS e, LATERAL (SELECT unnest(e.tags) AS tag) AS u',
    ['out.id: events.id', 'out.tag: events.tags CHANGED', 'out decided by events.tags'],
  ],
  [
    'unnest in FROM names its column',
    'SELECT id, tag FROM events CROSS JOIN unnest(tags) AS u(tag)',
    ['out.id: events.id', 'out.tag: events.tags CHANGED', 'out decided by events.tags'],
  ],
  [
    'paths in JSON change the value',
    "SELECT CAST(body ->> '$.user.name' AS VARCHAR) AS user FROM events",
    ['out.user: events.body CHANGED'],
  ],
  [
    'the parameters of a lambda are no columns',
    'SELECT list_transform(tags, lambda id: id || body) AS t FROM events',
    ['out.t: events.body CHANGED, events.tags CHANGED'],
  ],
  [
    'an alias may be used in the same SELECT',
    'SELECT amount + 1 AS x, x * 2 AS y FROM orders WHERE y > 3',
    ['out.x: orders.amount CHANGED', 'out.y: orders.amount CHANGED', 'out decided by orders.amount'],
  ],
  [
    'a column of the table comes before an alias of the same name',
    'SELECT id AS amount, amount + 1 AS y FROM orders',
    ['out.amount: orders.id', 'out.y: orders.amount CHANGED'],
  ],
  [
    'CASE counts its conditions',
    'SELECT CASE WHEN day IS NULL THEN amount ELSE 0 END AS x FROM orders',
    ['out.x: orders.amount CHANGED, orders.day CHANGED'],
  ],
  [
    'PIVOT makes columns of values',
    "SELECT * FROM (SELECT customer, day, amount FROM orders) PIVOT (sum(amount) FOR day IN ('mon', 'tue' AS t))",
    [
      'out.customer: orders.customer',
      'out.mon: orders.amount AGGREGATED',
      'out.t: orders.amount AGGREGATED',
      'out decided by orders.customer, orders.day',
    ],
  ],
  [
    'UNPIVOT makes rows of columns',
    'SELECT * FROM customers UNPIVOT INCLUDE NULLS (value FOR what IN (name, city))',
    ['out.id: customers.id', 'out.what:', 'out.value: customers.city, customers.name'],
  ],
  [
    'DISTINCT ON and LIMIT decide with their order',
    'SELECT DISTINCT ON (customer) amount FROM orders ORDER BY customer, day LIMIT 5',
    ['out.amount: orders.amount', 'out decided by orders.customer, orders.day'],
  ],
  ['ORDER BY alone decides nothing', 'SELECT id FROM orders ORDER BY amount', ['out.id: orders.id']],
  [
    'a position in ORDER BY and GROUP BY is a column of SELECT',
    'SELECT customer, count(*) AS n FROM orders GROUP BY 1 ORDER BY 2 LIMIT 1',
    ['out.customer: orders.customer', 'out.n:', 'out decided by orders.customer'],
  ],
  [
    'a name in another case is the column of the table',
    'SELECT "ID", ORDERS.Amount FROM Orders',
    ['out.ID: orders.id', 'out.Amount: orders.amount'],
  ],
  [
    'a semi join shows no column of its second table',
    'SELECT * FROM customers SEMI JOIN orders ON customers.id = orders.customer',
    [
      'out.id: customers.id',
      'out.name: customers.name',
      'out.city: customers.city',
      'out decided by customers.id, orders.customer',
    ],
  ],
  [
    'FILTER and ORDER BY in an aggregate are apart',
    "SELECT string_agg(name, ',' ORDER BY id) FILTER (WHERE city = 'x') AS names FROM customers",
    ['out.names: customers.name AGGREGATED', 'out decided by customers.city, customers.id'],
  ],
  [
    'VALUES has columns by position',
    'SELECT v.a, o.id FROM orders AS o JOIN (VALUES (1, 2), (3, 4)) AS v(a, b) ON v.b = o.id',
    ['out.a:', 'out.id: orders.id', 'out decided by orders.id'],
  ],
  [
    'COLUMNS calls a function for each column',
    'SELECT max(COLUMNS(*)) FROM (SELECT id, amount FROM orders)',
    ['out.id: orders.id AGGREGATED', 'out.amount: orders.amount AGGREGATED'],
  ],
  [
    'a member of a struct changes the value',
    'SELECT s.a AS x, s.b.c AS y FROM (SELECT body AS s FROM events)',
    ['out.x: events.body CHANGED', 'out.y: events.body CHANGED'],
  ],
  [
    'a file is read by its path',
    "SELECT a, b + 1 AS c FROM read_csv('/in/data.csv', header = true, columns = {'a': 'INTEGER', 'b': 'INTEGER'})",
    ['out.a: in/data.csv.a', 'out.c: in/data.csv.b CHANGED'],
  ],
  [
    'a star of an unknown table is a gap',
    'SELECT * FROM elsewhere',
    ['gap: the columns of warehouse.main.elsewhere are not known, so that those of * are not listed'],
  ],
  [
    'named columns of an unknown table are its fields',
    'SELECT a, e.b AS c FROM elsewhere AS e WHERE d > 1',
    ['out.a: elsewhere.a', 'out.c: elsewhere.b', 'out decided by elsewhere.d'],
  ],
];

for (const [name, query, lines] of cases) test(name, () => assert.deepEqual(of(query), lines));

test('SQL that was translated is read, also that of PARSE_JSON and PIVOT', () => {
  const ofSnowflake = (query: string) => of(sqlRewriter.rewriteQuery(query, {}).sql);
  assert.deepEqual(ofSnowflake('SELECT parse_json(body):a::int AS a FROM events'), [
    'out.a: events.body CHANGED',
  ]);
  assert.deepEqual(
    ofSnowflake("SELECT * FROM orders PIVOT(avg(amount) FOR day IN ('a' AS a)) AS p").slice(0, 3),
    [
      'out.id: orders.id',
      'out.customer: orders.customer',
      'out.a: orders.amount AGGREGATED, orders.day AGGREGATED',
    ],
  );
});

test('tables that describe the warehouse are no inputs', () =>
  assert.deepEqual(of('SELECT table_name AS t FROM information_schema.tables'), ['out.t:']));

test('schemas of other databases have their names', () =>
  assert.deepEqual(of('SELECT id FROM "raw.landing"."Orders"'), ['out.id: raw.landing.orders.id']));
