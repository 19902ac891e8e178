import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { toProblem } from '../../endpoint/endpoint.ts';

function databaseError(code: string): Error {
  return Object.assign(new pg.DatabaseError('could not extend file', 0, 'error'), { code });
}

test('a database without disk space, memory or connections, or with I/O errors, is 503', () => {
  const answers = ['53100', '53200', '53300', '53400', '58000', '58030', '57P01', '08006'].map((code) => {
    const found = toProblem(databaseError(code));
    return [code, found?.status, found?.code];
  });
  assert.deepEqual(answers, [
    ['53100', 503, 'storage-full'],
    ['53200', 503, 'database-unavailable'],
    ['53300', 503, 'database-unavailable'],
    ['53400', 503, 'database-unavailable'],
    ['58000', 503, 'database-unavailable'],
    ['58030', 503, 'database-unavailable'],
    ['57P01', 503, 'database-unavailable'],
    ['08006', 503, 'database-unavailable'],
  ]);
});

test('a permanent fault is not reported as unavailable', () => {
  // A missing file, corrupted data, an internal error, a syntax error.
  for (const code of ['58P01', 'XX001', 'XX000', '42601'])
    assert.equal(toProblem(databaseError(code)), undefined, code);
});
