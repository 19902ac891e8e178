import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTableName, renderTableName } from './table-name.ts';

test('a table is named with or without its schema, and with quotation marks where a part needs them', () => {
  for (const [written, name] of [
    ['orders', { name: 'orders' }],
    ['shop.orders', { schema: 'shop', name: 'orders' }],
    ['shop."net.sales"', { schema: 'shop', name: 'net.sales' }],
    ['"a.""b".""""', { schema: 'a."b', name: '"' }],
    ['Größe 1.läden', { schema: 'Größe 1', name: 'läden' }],
  ] as const) {
    assert.deepEqual(parseTableName(written), name);
    assert.equal(renderTableName(name), written);
  }
  assert.deepEqual(parseTableName('"shop"."orders"'), { schema: 'shop', name: 'orders' });
});

test('what is not the name of a table is not read as one', () => {
  for (const written of [
    '',
    '.',
    'shop.',
    '.orders',
    'a.b.c',
    'a"b',
    '"a',
    '"a"b',
    '""',
    'a."b',
    'a\0',
    'a'.repeat(1_001),
  ])
    assert.equal(parseTableName(written), undefined, written);
});
