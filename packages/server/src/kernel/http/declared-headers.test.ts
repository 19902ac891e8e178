import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '@headgate/contract';
import { createHeaderReader } from './declared-headers.ts';

test('a header value is decoded only if that makes it valid', () => {
  const [operation] = operations;
  assert.ok(operation);
  const headers = { type: 'object', properties: { From: { type: 'string', format: 'date-time' } } };
  const read = createHeaderReader({ ...operation, headers: headers as never });
  assert.deepEqual(read({ from: '2026-01-01T00%3A00%3A00Z' }), { From: '2026-01-01T00:00:00Z' });
  assert.deepEqual(read({ from: '2026-01-01T00:00:00Z' }), { From: '2026-01-01T00:00:00Z' });
  assert.deepEqual(read({ from: 'yesterday%21' }), { From: 'yesterday%21' });
});
