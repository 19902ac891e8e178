/** How the columns of tables are read in each warehouse. Tests with real warehouses are in their folders. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKnownColumns } from './known-columns.ts';

test('in Snowflake, a table of another database is read in the catalog of that one', async () => {
  const queries: string[] = [];
  const columns = createKnownColumns('snowflake');
  const paths = { here: ['WH', 'T'], there: ["La'ke", 'WH', 'T'] };
  const found = await columns.read(paths, async (sql) => {
    queries.push(sql);
    return JSON.stringify({
      rows: [
        ['', 'WH', 'T', 'A', 'NUMBER', '1'],
        ["La'ke", 'WH', 'T', 'B', 'TEXT', '1'],
      ],
    });
  });
  assert.deepEqual(found, { here: [{ name: 'A', type: 'NUMBER' }], there: [{ name: 'B', type: 'TEXT' }] });
  assert.equal(
    queries.join(),
    `SELECT '', table_schema, table_name, column_name, data_type, ordinal_position
FROM INFORMATION_SCHEMA.COLUMNS
WHERE (table_schema, table_name) IN (('WH', 'T'))
UNION ALL
SELECT 'La''ke', table_schema, table_name, column_name, data_type, ordinal_position
FROM "La'ke".INFORMATION_SCHEMA.COLUMNS
WHERE (table_schema, table_name) IN (('WH', 'T'))
ORDER BY 1, 2, 3, 6`,
  );
});
