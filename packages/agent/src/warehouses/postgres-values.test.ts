/** Values of PostgreSQL reach runs exactly. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { createTestPostgres } from '../../testing/postgres.ts';

const postgres = await createTestPostgres();
const connection = await postgres.driver.connect(postgres.target);
after(async () => {
  await connection.close();
  await postgres.drop();
});

const values: readonly [sql: string, value: unknown][] = [
  ["timestamptz '2030-01-02 03:04:05.123456+01'", '2030-01-02T02:04:05.123456Z'],
  ["timestamptz '2030-01-02 03:04:05.1'", '2030-01-02T03:04:05.100Z'],
  ["timestamptz '0044-03-15 12:00:00 BC'", '0044-03-15 12:00:00+00 BC'],
  ["timestamptz '20000-01-01'", '20000-01-01 00:00:00+00'],
  ["timestamptz 'infinity'", 'infinity'],
  ["timestamp '2030-01-02 03:04:05.000001'", '2030-01-02T03:04:05.000001'],
  ["timestamp '-infinity'", '-infinity'],
  ["date 'infinity'", 'infinity'],
  ["date '10000-01-01'", '10000-01-01'],
  ["time '03:04:05.123456'", '03:04:05.123456'],
  ["timetz '03:04:05.123456+01'", '03:04:05.123456+01'],
  ["interval '1 year 2 days 03:04:05.123456'", '1 year 2 days 03:04:05.123456'],
  ['9007199254740991::bigint', 9_007_199_254_740_991],
  ['-9007199254740993::bigint', '-9007199254740993'],
  ['12345678901234.5::numeric', 12_345_678_901_234.5],
  ['0.1234567890123456789::numeric', '0.1234567890123456789'],
  ['1.50::numeric(10, 4)', 1.5],
  ['100000000000000000000::numeric', '100000000000000000000'],
  ["'NaN'::numeric", 'NaN'],
  ["'Infinity'::float8", 'Infinity'],
  ['0.1::float4', 0.1],
  ["'\\x00ff'::bytea", '\\x00ff'],
  ['array[1, null, 3]', '{1,NULL,3}'],
  ["array['a b', '\"']", '{"a b","\\""}'],
  [`'{"a": 12345678901234567890.5}'::jsonb`, '{"a": 12345678901234567890.5}'],
  ["'1e400'::numeric", `1${'0'.repeat(400)}`],
];

for (const [sql, value] of values)
  it(sql, async () => assert.deepEqual((await connection.query(`select ${sql}`, 1)).rows, [[value]]));

it('moments are in UTC also in a session of another time zone', async () => {
  await connection.execute("set time zone 'Asia/Kathmandu'");
  const { rows } = await connection.query("select timestamptz '2030-01-02 03:04:05.654321+00'", 1);
  assert.deepEqual(rows, [['2030-01-02T03:04:05.654321Z']]);
});
