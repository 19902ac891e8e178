import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthPercent } from './heap-growth.ts';

const mebibyte = 1_048_576;

test('a heap grows by as much whatever its size, between the bounds', () => {
  const grows = (mebibytes: number) => (growthPercent(mebibytes * mebibyte) / 100) * mebibytes;
  assert.equal(grows(20), 20, 'a small one by no more than itself');
  for (const live of [40, 80, 100, 160]) assert.equal(Math.round(grows(live)), 40, `${live} MiB`);
  assert.equal(grows(1_000), 200, 'a very large one is not marked all the time');
});
