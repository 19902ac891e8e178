import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMovableClock } from '../../../testing/clock.ts';
import { createRateLimit, noRateLimit } from './rate-limit.ts';

const caller = { accountId: 'account', actorId: 'caller' };
const other = { accountId: 'account', actorId: 'other' };
const limits = { ofAccount: 4, ofCaller: 3, refusedOfAddress: 2 };

test('a window begins with the first request and lasts a minute', () => {
  const clock = createMovableClock();
  const limit = createRateLimit({ ...limits, ofAccount: 2, ofCaller: 2 }, clock);
  assert.deepEqual(limit.count(caller).headers, {
    'RateLimit-Policy': '"account";q=2;w=60, "caller";q=2;w=60',
    RateLimit: '"account";r=1;t=60, "caller";r=1;t=60',
  });
  clock.advance(59.5);
  assert.equal(limit.count(caller).headers.RateLimit, '"account";r=0;t=1, "caller";r=0;t=1');
  assert.throws(() => limit.count(caller), {
    code: 'rate-limited',
    message: 'Too many requests: the limit of this caller is 2 in a minute; try again in 1 s.',
  });
  clock.advance(0.5);
  assert.equal(limit.count(caller).headers.RateLimit, '"account";r=1;t=60, "caller";r=1;t=60');
});

test('one caller cannot use up the limit of its account, and gets the headers of the limit that ends first', () => {
  const limit = createRateLimit(limits, createMovableClock());
  for (let each = 0; each < 2; each += 1) limit.count(caller);
  assert.equal(limit.count(caller).headers.RateLimit, '"caller";r=0;t=60, "account";r=1;t=60');
  for (let each = 0; each < 10; each += 1) assert.throws(() => limit.count(caller), { code: 'rate-limited' });
  assert.equal(limit.count(other).headers.RateLimit, '"account";r=0;t=60, "caller";r=2;t=60');
  assert.throws(() => limit.count(other), { code: 'rate-limited' });
  assert.ok(
    limit.count({ ...caller, accountId: 'another', actorId: 'third' }),
    'another account has its own',
  );
});

test('a refused request does not extend the wait', () => {
  const clock = createMovableClock();
  const limit = createRateLimit({ ...limits, ofAccount: 1, ofCaller: 1 }, clock);
  limit.count(caller);
  for (let second = 0; second < 59; second += 1) {
    clock.advance(1);
    assert.throws(() => limit.count(caller), { code: 'rate-limited' });
  }
  clock.advance(1);
  assert.ok(limit.count(caller));
});

test('an inactive caller costs its account nothing and is remembered for a few seconds', () => {
  const clock = createMovableClock();
  const limit = createRateLimit(limits, clock);
  for (let each = 0; each < 3; each += 1) limit.count(caller).refuse();
  assert.equal(limit.isRefused(caller), true);
  assert.equal(limit.isRefused({ ...caller, userCredentialId: 'another of the user' }), false);
  assert.equal(limit.isRefused(other), false);
  assert.match(limit.count(other).headers.RateLimit ?? '', /"account";r=3/);
  clock.advance(5);
  assert.equal(limit.isRefused(caller), false, 'it may be active again');
});

test('refused tokens count by address, an IPv6 network as one', () => {
  const clock = createMovableClock();
  const limit = createRateLimit(limits, clock);
  limit.countRefused('2001:db8::1');
  limit.countRefused('2001:db8::2');
  assert.throws(() => limit.countRefused('2001:db8::3'), { code: 'rate-limited' });
  limit.countRefused('2001:db8:0:1::1');
  limit.countRefused('192.0.2.1');
  clock.advance(60);
  limit.countRefused('2001:db8::3');
});

test('millions of addresses take bounded memory', () => {
  const limit = createRateLimit({ ...limits, refusedOfAddress: 1 }, createMovableClock());
  const write = (each: number) => `10.${each >> 16}.${(each >> 8) & 255}.${each & 255}`;
  limit.countRefused(write(0));
  assert.throws(() => limit.countRefused(write(0)));
  for (let each = 1; each <= 50_000; each += 1) limit.countRefused(write(each));
  limit.countRefused(write(0));
  assert.throws(() => limit.countRefused(write(50_000)), { code: 'rate-limited' }, 'the latest are kept');
});

test('no limit counts nothing', () => {
  assert.deepEqual(noRateLimit.count(caller).headers, {});
});
