import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';

interface LoggedError {
  name: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: LoggedError;
  errors?: LoggedError[];
  parameters?: unknown;
}

function captureLog(write: (log: ReturnType<typeof createLog>) => void): { err: LoggedError; msg: string } {
  const lines: string[] = [];
  write(createLog('info', { write: (line) => void lines.push(line) }));
  assert.equal(lines.length, 1);
  return JSON.parse(lines[0] ?? '');
}

test('an error is logged with its code and causes, without its other members', () => {
  const io = Object.assign(new Error('write EIO'), { code: 'EIO' });
  const failure = Object.assign(new Error('cannot store', { cause: io }), { parameters: ['a value'] });
  const { err, msg } = captureLog((log) => log.error({ err: failure }, 'a request failed'));
  assert.equal(msg, 'a request failed');
  assert.deepEqual([err.name, err.message, err.code], ['Error', 'cannot store', undefined]);
  assert.match(err.stack ?? '', /log\.test\.ts/);
  assert.deepEqual([err.cause?.message, err.cause?.code], ['write EIO', 'EIO']);
  assert.equal(err.parameters, undefined);
});

test('an error logged directly keeps its code and cause', () => {
  const failure = Object.assign(new Error('outer', { cause: 'a text' }), { code: '53100' });
  const { err } = captureLog((log) => log.error(failure));
  assert.deepEqual([err.code, err.cause?.message], ['53100', 'a text']);
});

test('the errors of several attempts are logged, and circular causes end', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED ::1'), { code: 'ECONNREFUSED' });
  const all = new AggregateError([refused], '');
  all.cause = all;
  const { err } = captureLog((log) => log.warn({ err: all }, 'a connection was lost'));
  assert.deepEqual([err.errors?.[0]?.message, err.errors?.[0]?.code], [refused.message, 'ECONNREFUSED']);
  assert.equal(err.cause?.cause?.name, 'AggregateError');
});
