import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeTables } from './guard-sum.ts';

test('the merged table has the entries of all slices, and a duplicate name is refused', () => {
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
