import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMovableClock } from '../../../testing/clock.ts';
import { buildAddressKey } from './address-key.ts';
import { addressLimit, createThrottle, pairLimit, type Throttle } from './throttle.ts';

const buildAttempt = (address: string, clientId = 'client') => ({ address, clientId });
const [stranger, owner] = ['198.51.100.1', '203.0.113.1'];
let guesses = 0;

/** Fails with a different wrong secret each time. */
function failDifferently(
  throttle: Throttle,
  times: number,
  address: string = stranger,
  clientId?: string,
): void {
  for (let attempt = 0; attempt < times; attempt += 1) {
    guesses += 1;
    throttle.recordFailure({ ...buildAttempt(address, clientId), guess: Buffer.from(String(guesses)) });
  }
}

/** Fails with the same wrong secret each time. */
function failAlike(throttle: Throttle, times: number, secret = 'of last year'): void {
  for (let attempt = 0; attempt < times; attempt += 1)
    throttle.recordFailure({ ...buildAttempt(stranger), guess: Buffer.from(secret) });
}

function createFailingThrottle(times: number) {
  const clock = createMovableClock();
  const throttle = createThrottle(clock);
  failDifferently(throttle, times);
  return { clock, throttle };
}

test('the tenth failure of a pair causes a pause of one second', () => {
  assert.equal(createFailingThrottle(pairLimit - 1).throttle.getPairPause(buildAttempt(stranger)), 0);
  const { clock, throttle } = createFailingThrottle(pairLimit);
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 1);
  clock.advance(1);
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 0);
});

test('each further failure doubles the pause, up to five minutes', () => {
  const { throttle } = createFailingThrottle(pairLimit);
  const pauses = Array.from({ length: 12 }, () => {
    failDifferently(throttle, 1);
    return throttle.getPairPause(buildAttempt(stranger));
  });
  assert.deepEqual(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
});

test('other addresses of the client and other clients of the address do not wait', () => {
  const { throttle } = createFailingThrottle(addressLimit - 2);
  failAlike(throttle, 20);
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 300);
  assert.equal(throttle.getPairPause(buildAttempt(owner)), 0);
  assert.equal(throttle.getAddressPause(owner), 0);
  assert.equal(throttle.getPairPause(buildAttempt(stranger, 'other')), 0);
  assert.equal(throttle.getAddressPause(stranger), 0, 'below the limit of the address');
});

test('an address waits after ten failures for any clients', () => {
  const clock = createMovableClock();
  const throttle = createThrottle(clock);
  for (let client = 0; client < addressLimit; client += 1) {
    assert.equal(throttle.getAddressPause(stranger), 0);
    failDifferently(throttle, 1, stranger, `client ${client}`);
  }
  assert.equal(throttle.getAddressPause(stranger), 1);
  clock.advance(1);
  assert.equal(throttle.getAddressPause(stranger), 0);
  failDifferently(throttle, 1);
  assert.equal(throttle.getAddressPause(stranger), 2);
});

test('a repeated wrong secret counts each time for its pair, but once for the address', () => {
  const throttle = createThrottle(createMovableClock());
  failAlike(throttle, 10 * addressLimit);
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 300);
  failDifferently(throttle, addressLimit - 2, stranger, 'other');
  assert.equal(throttle.getAddressPause(stranger), 0);
  failDifferently(throttle, 1, stranger, 'other');
  assert.equal(throttle.getAddressPause(stranger), 1);
});

test('each stale secret counts once for the address, even between right ones', () => {
  const throttle = createThrottle(createMovableClock());
  for (let round = 0; round < 5 * addressLimit; round += 1) {
    failAlike(throttle, 1);
    failAlike(throttle, 1, 'of the year before');
    throttle.recordSuccess(buildAttempt(stranger));
  }
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 0);
  assert.equal(throttle.getAddressPause(stranger), 0);
  failDifferently(throttle, addressLimit - 3, stranger, 'other');
  assert.equal(throttle.getAddressPause(stranger), 0);
  failDifferently(throttle, 1, stranger, 'other');
  assert.equal(throttle.getAddressPause(stranger), 1);
});

test('a success resets the failures of the pair, not those of the address', () => {
  const { throttle } = createFailingThrottle(addressLimit);
  throttle.recordSuccess(buildAttempt(stranger));
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 0);
  assert.equal(throttle.getAddressPause(stranger), 1);
});

test('15 minutes without a failure reset the counts', () => {
  const { clock, throttle } = createFailingThrottle(addressLimit + 10);
  clock.advance(901);
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 0);
  assert.equal(throttle.getAddressPause(stranger), 0);
  failDifferently(throttle, pairLimit - 1);
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 0, 'and counts from the start');
});

test('guesses for many clients and addresses use bounded memory and lock no client out', () => {
  const { throttle } = createFailingThrottle(addressLimit);
  for (let number = 0; number < 50_000; number += 1)
    failDifferently(
      throttle,
      1,
      `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
      'x'.repeat(1_000),
    );
  assert.equal(throttle.getPairPause(buildAttempt(stranger)), 0, 'the oldest entry was dropped');
  assert.equal(throttle.getAddressPause(stranger), 0);
  assert.equal(throttle.getAddressPause(owner), 0);
  assert.equal(throttle.getPairPause(buildAttempt(owner, 'x'.repeat(1_000))), 0);
});

test('all IPv6 addresses of a /64 network count as one', () => {
  assert.equal(buildAddressKey('2001:db8:1:2:3::4'), buildAddressKey('2001:db8:1:2:ffff::1'));
  assert.notEqual(buildAddressKey('2001:db8:1:2::1'), buildAddressKey('2001:db8:1:3::1'));
  assert.equal(buildAddressKey('::ffff:192.0.2.1'), buildAddressKey('192.0.2.1'));
  assert.notEqual(buildAddressKey('192.0.2.1'), buildAddressKey('192.0.2.2'));
  assert.notEqual(buildAddressKey('unknown'), buildAddressKey(''));
});
