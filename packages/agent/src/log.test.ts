import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getReason } from './log.ts';

test('the reason of an error is its message with that of its cause, or those of all its attempts', () => {
  assert.equal(getReason('a text'), 'a text');
  assert.equal(getReason(new Error('failed', { cause: new Error('refused') })), 'failed: refused');
  const attempts = [new Error('connect ECONNREFUSED ::1:80'), new Error('connect ECONNREFUSED 127.0.0.1:80')];
  assert.equal(
    getReason(new AggregateError(attempts)),
    'connect ECONNREFUSED ::1:80, connect ECONNREFUSED 127.0.0.1:80',
  );
});
