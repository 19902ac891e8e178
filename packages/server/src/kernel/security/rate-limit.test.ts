import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMovableClock } from '../../testing/clock.ts';
import { createRateLimit, noRateLimit } from './rate-limit.ts';

test('a window begins with the first request and lasts a minute', () => {
  const clock = createMovableClock();
  const limit = createRateLimit(2, clock);
  assert.deepEqual(limit.count('a'), {
    'RateLimit-Policy': '"account";q=2;w=60',
    RateLimit: '"account";r=1;t=60',
  });
  clock.advance(59.5);
  assert.equal(limit.count('a').RateLimit, '"account";r=0;t=1');
  assert.throws(() => limit.count('a'), {
    code: 'rate-limited',
    message: 'Too many requests; try again in 1 s.',
  });
  clock.advance(0.5);
  assert.equal(limit.count('a').RateLimit, '"account";r=1;t=60');
});

test('each account has a window of its own', () => {
  const limit = createRateLimit(1, createMovableClock());
  limit.count('a');
  limit.count('b');
  assert.throws(() => limit.count('a'));
  assert.throws(() => limit.count('b'));
});

test('a refused request does not extend the wait', () => {
  const clock = createMovableClock();
  const limit = createRateLimit(1, clock);
  limit.count('a');
  for (let second = 0; second < 59; second += 1) {
    clock.advance(1);
    assert.throws(() => limit.count('a'), { code: 'rate-limited' });
  }
  clock.advance(1);
  assert.ok(limit.count('a'));
});

test('no limit counts nothing', () => {
  assert.deepEqual(noRateLimit.count('a'), {});
});
