import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hideSecretColumns } from './secret-columns.ts';

const hide = (sql: string, columns: string[], ...rows: unknown[][]) => {
  const hidden = hideSecretColumns(sql, columns, rows);
  return [...hidden.rows, hidden.names];
};

test('a column that is named like a secret is masked, and its values in other columns', () => {
  const columns = ['name', 'db_password', 'note', 'size'];
  assert.deepEqual(
    hide('select * from t', columns, ['Ada', 'hunter22', 'it is hunter22.', 1], ['Bo', null, 'x', 2]),
    [['Ada', '[masked]', 'it is [masked].', 1], ['Bo', null, 'x', 2], []],
  );
  assert.deepEqual(hide('select name, DB_PASSWORD from t', ['name', 'DB_PASSWORD'], ['Ada', 17]), [
    ['Ada', '[masked]'],
    [],
  ]);
});

test('a query that names such a column and does not show its name gets no texts', () => {
  for (const sql of [
    'select db_password as x, 1 as n, true as b from t',
    'select upper("db_password") x, 1 n, true b from t',
    'select db_password--\n as x, 1 as n, true as b from t',
    'select db_password-y as x, 1 as n, true as b from t',
    "select $$'$$ || db_password as x, 1 as n, true as b /* ' */ from t",
  ])
    assert.deepEqual(hide(sql, ['x', 'n', 'b'], ['HUNTER22', 1, true], [null, 2, false]), [
      ['[masked]', 1, true],
      [null, 2, false],
      ['db_password'],
    ]);
  const twice = 'select token, token as x from t';
  assert.deepEqual(hide(twice, ['token', 'x'], ['abcdef', 'fedcba']), [['[masked]', '[masked]'], ['token']]);
  assert.deepEqual(hide('select count(*) as n from t where api_key is null', ['n'], [3]), [[3], ['api_key']]);
});

test('a query that names no such column shows its rows', () => {
  assert.deepEqual(hide('select passwords, city from t', ['passwords', 'city'], [3, 'Oslo']), [
    [3, 'Oslo'],
    [],
  ]);
});

test('a name in quotes may have hyphens', () => {
  assert.deepEqual(hide('select "api-key", "db-name" from t', ['api-key', 'db-name'], ['k', 'main']), [
    ['[masked]', 'main'],
    [],
  ]);
});
