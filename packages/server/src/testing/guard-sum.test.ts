import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeTables } from './guard-sum.ts';

test('the sum has what each slice has, and a name that two slices have is refused', () => {
  const tables = [{ readCopy: 1 }, undefined, { makeCopy: 2 }];
  assert.deepEqual(
    mergeTables('examples', tables, (table) => table),
    { readCopy: 1, makeCopy: 2 },
  );
  assert.throws(
    () => mergeTables('examples', [...tables, { readCopy: 1 }], (table) => table),
    /^Error: two slices define the same entry in examples: readCopy$/,
  );
});
