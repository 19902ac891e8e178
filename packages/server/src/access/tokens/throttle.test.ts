import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMovableClock } from '../../testing/clock.ts';
import { addressKey, addressLimit, createThrottle, pairLimit, type Throttle } from './throttle.ts';

const at = (address: string, clientId = 'client') => ({ address, clientId });
const [stranger, owner] = ['198.51.100.1', '203.0.113.1'];
let guesses = 0;

/** Wrong secrets, each another one. */
function fail(throttle: Throttle, times: number, address: string = stranger, clientId?: string): void {
  for (let attempt = 0; attempt < times; attempt += 1) {
    guesses += 1;
    throttle.failed({ ...at(address, clientId), guess: Buffer.from(String(guesses)) });
  }
}

/** One wrong secret, again and again. */
function repeat(throttle: Throttle, times: number, secret = 'of last year'): void {
  for (let attempt = 0; attempt < times; attempt += 1)
    throttle.failed({ ...at(stranger), guess: Buffer.from(secret) });
}

function failing(times: number) {
  const clock = createMovableClock();
  const throttle = createThrottle(clock);
  fail(throttle, times);
  return { clock, throttle };
}

test('nine failures of a pair cost nothing, the tenth a second', () => {
  assert.equal(failing(pairLimit - 1).throttle.pairPause(at(stranger)), 0);
  const { clock, throttle } = failing(pairLimit);
  assert.equal(throttle.pairPause(at(stranger)), 1);
  clock.advance(1);
  assert.equal(throttle.pairPause(at(stranger)), 0);
});

test('each further failure doubles the pause, up to five minutes', () => {
  const { throttle } = failing(pairLimit);
  const pauses = Array.from({ length: 12 }, () => {
    fail(throttle, 1);
    return throttle.pairPause(at(stranger));
  });
  assert.deepEqual(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
});

test('another address of the same client waits for nothing, nor does another client of the address', () => {
  const { throttle } = failing(addressLimit - 2);
  repeat(throttle, 20);
  assert.equal(throttle.pairPause(at(stranger)), 300);
  assert.equal(throttle.pairPause(at(owner)), 0);
  assert.equal(throttle.addressPause(owner), 0);
  assert.equal(throttle.pairPause(at(stranger, 'other')), 0);
  assert.equal(throttle.addressPause(stranger), 0, 'below the limit of the address');
});

test('an address waits after so many failures, whatever clients they were for', () => {
  const clock = createMovableClock();
  const throttle = createThrottle(clock);
  for (let client = 0; client < addressLimit; client += 1) {
    assert.equal(throttle.addressPause(stranger), 0);
    fail(throttle, 1, stranger, `client ${client}`);
  }
  assert.equal(throttle.addressPause(stranger), 1);
  clock.advance(1);
  assert.equal(throttle.addressPause(stranger), 0);
  fail(throttle, 1);
  assert.equal(throttle.addressPause(stranger), 2);
});

test('one wrong secret sent again and again counts for its pair, and once for the address', () => {
  const throttle = createThrottle(createMovableClock());
  repeat(throttle, 10 * addressLimit);
  assert.equal(throttle.pairPause(at(stranger)), 300);
  fail(throttle, addressLimit - 2, stranger, 'other');
  assert.equal(throttle.addressPause(stranger), 0);
  fail(throttle, 1, stranger, 'other');
  assert.equal(throttle.addressPause(stranger), 1);
});

test('stale secrets between right ones count once each for the address', () => {
  const throttle = createThrottle(createMovableClock());
  for (let round = 0; round < 5 * addressLimit; round += 1) {
    repeat(throttle, 1);
    repeat(throttle, 1, 'of the year before');
    throttle.succeeded(at(stranger));
  }
  assert.equal(throttle.pairPause(at(stranger)), 0);
  assert.equal(throttle.addressPause(stranger), 0);
  fail(throttle, addressLimit - 3, stranger, 'other');
  assert.equal(throttle.addressPause(stranger), 0);
  fail(throttle, 1, stranger, 'other');
  assert.equal(throttle.addressPause(stranger), 1);
});

test('a success forgets the failures of the pair, not those of the address', () => {
  const { throttle } = failing(addressLimit);
  throttle.succeeded(at(stranger));
  assert.equal(throttle.pairPause(at(stranger)), 0);
  assert.equal(throttle.addressPause(stranger), 1);
});

test('a quarter of an hour without a failure forgets everything', () => {
  const { clock, throttle } = failing(addressLimit + 10);
  clock.advance(901);
  assert.equal(throttle.pairPause(at(stranger)), 0);
  assert.equal(throttle.addressPause(stranger), 0);
  fail(throttle, pairLimit - 1);
  assert.equal(throttle.pairPause(at(stranger)), 0, 'and begins again');
});

test('guessers of many clients and addresses do not fill the memory, and lock nobody out', () => {
  const { throttle } = failing(addressLimit);
  for (let number = 0; number < 50_000; number += 1)
    fail(throttle, 1, `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`, 'x'.repeat(1_000));
  assert.equal(throttle.pairPause(at(stranger)), 0, 'the oldest made room');
  assert.equal(throttle.addressPause(stranger), 0);
  assert.equal(throttle.addressPause(owner), 0);
  assert.equal(throttle.pairPause(at(owner, 'x'.repeat(1_000))), 0);
});

test('a guesser with a network of IPv6 addresses is one guesser', () => {
  assert.equal(addressKey('2001:db8:1:2:3::4'), addressKey('2001:db8:1:2:ffff::1'));
  assert.notEqual(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'));
  assert.equal(addressKey('::ffff:192.0.2.1'), addressKey('192.0.2.1'));
  assert.notEqual(addressKey('192.0.2.1'), addressKey('192.0.2.2'));
  assert.notEqual(addressKey('unknown'), addressKey(''));
});
