import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMovableClock } from '../../testing/clock.ts';
import { createFailureLog } from './failure-log.ts';
import { createLog } from './log.ts';

function setUp() {
  const lines: Record<string, unknown>[] = [];
  const clock = createMovableClock();
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  return { lines, clock, failures: createFailureLog(log, clock) };
}

const diskFull = () => Object.assign(new Error('could not extend file'), { code: '53100' });

test('the same failure of a job is logged once a minute, with a count', () => {
  const { lines, clock, failures } = setUp();
  for (let second = 0; second < 150; second++) {
    failures.recordFailure('sweep', diskFull(), 'a periodic job failed');
    clock.advance(1);
  }
  assert.deepEqual(
    lines.map(({ job, repeated, msg }) => [job, repeated, msg]),
    [
      ['sweep', undefined, 'a periodic job failed'],
      ['sweep', 59, 'a periodic job failed'],
      ['sweep', 59, 'a periodic job failed'],
    ],
  );
});

test('another reason, or another job, is logged at once', () => {
  const { lines, failures } = setUp();
  failures.recordFailure('sweep', diskFull(), 'failed');
  failures.recordFailure('sweep', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'failed');
  failures.recordFailure('retention', diskFull(), 'failed');
  failures.recordFailure('sweep', diskFull(), 'failed');
  assert.equal(lines.length, 3);
});

test('a job that works again is logged once, with the number of its failures', () => {
  const { lines, failures } = setUp();
  failures.recordSuccess('sweep');
  for (const _ of [1, 2, 3]) failures.recordFailure('sweep', diskFull(), 'failed');
  failures.recordSuccess('sweep');
  failures.recordSuccess('sweep');
  assert.deepEqual(
    lines.map(({ msg, failures: count }) => [msg, count]),
    [
      ['failed', undefined],
      ['works again', 3],
    ],
  );
  failures.recordFailure('sweep', diskFull(), 'failed');
  assert.equal(lines.length, 3, 'after that it is news again');
});
