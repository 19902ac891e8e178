import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computePageBounds, makePagingToken, readPagingToken } from './paging.ts';

test('a size above 100 is reduced to 100, also for the offset', () => {
  assert.deepEqual(computePageBounds({ page: 0, size: 25 }), { limit: 25, offset: 0 });
  assert.deepEqual(computePageBounds({ page: 3, size: 1_000 }), { limit: 100, offset: 300 });
});

test('a token returns its id and is opaque', () => {
  const id = '01890000-0000-7000-8000-000000000000';
  const token = makePagingToken(id);
  assert.equal(readPagingToken(token), id);
  assert.match(token, /^[\w-]+$/);
  assert.ok(!token.includes(id));
});

test('an invalid token has no id', () => {
  for (const token of ['', 'x', Buffer.from(`2:x`).toString('base64url'), '%%%']) {
    assert.equal(readPagingToken(token), undefined);
  }
});
