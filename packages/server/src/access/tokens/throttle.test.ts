import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movableClock } from '../../testing/clock.ts';
import { addressKey, createThrottle } from './throttle.ts';

function failing(times: number) {
  const clock = movableClock();
  const throttle = createThrottle(clock);
  for (let attempt = 0; attempt < times; attempt += 1) throttle.failed(['key']);
  return { clock, throttle };
}

test('nine failures cost nothing, the tenth a second', () => {
  assert.equal(failing(9).throttle.pause(['key']), 0);
  const { clock, throttle } = failing(10);
  assert.equal(throttle.pause(['key']), 1);
  clock.advance(1);
  assert.equal(throttle.pause(['key']), 0);
});

test('each further failure doubles the wait, up to five minutes', () => {
  const { throttle } = failing(10);
  const pauses = Array.from({ length: 12 }, () => {
    throttle.failed(['key']);
    return throttle.pause(['key']);
  });
  assert.deepEqual(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
});

test('a success, or a quarter of an hour without a failure, forgets', () => {
  const { throttle } = failing(20);
  throttle.succeeded(['key']);
  assert.equal(throttle.pause(['key']), 0);
  const later = failing(20);
  later.clock.advance(901);
  assert.equal(later.throttle.pause(['key']), 0);
  later.throttle.failed(['key']);
  assert.equal(later.throttle.pause(['key']), 0, 'and begins anew');
});

test('of several keys the longest wait counts, and others wait for nothing', () => {
  const { throttle } = failing(12);
  assert.equal(throttle.pause(['other', 'key']), 4);
  assert.equal(throttle.pause(['other']), 0);
  assert.equal(throttle.pause([]), 0);
});

test('guessers of many names do not fill the memory', () => {
  const { throttle } = failing(20);
  for (let name = 0; name < 50_000; name += 1) throttle.failed([`name ${name}`]);
  assert.equal(throttle.pause(['key']), 0, 'the oldest made room');
});

test('a guesser with a network of IPv6 addresses is one guesser', () => {
  assert.equal(addressKey('2001:db8:1:2:3::4'), addressKey('2001:db8:1:2:ffff::1'));
  assert.notEqual(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'));
  assert.equal(addressKey('::ffff:192.0.2.1'), addressKey('192.0.2.1'));
  assert.notEqual(addressKey('192.0.2.1'), addressKey('192.0.2.2'));
  assert.notEqual(addressKey('unknown'), addressKey(''));
});
