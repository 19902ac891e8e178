import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaces } from './rate.ts';
import { judgeResponse } from './waiting.ts';

const now = new Date('2030-01-01T00:00:00Z');
const respond = (status: number, headers: Record<string, string> = {}) => ({
  status,
  headers,
  text: '',
  isUtf8: true,
  bytes: 0,
});

test('Retry-After is a number of seconds or a date', () => {
  assert.deepEqual(judgeResponse('POST', respond(429, { 'retry-after': '7' }), now), { pause: 7_000 });
  const date = respond(503, { 'retry-after': 'Tue, 01 Jan 2030 00:00:30 GMT' });
  assert.deepEqual(judgeResponse('GET', date, now), { pause: 30_000 });
  assert.equal(judgeResponse('POST', date, now), 'use');
  assert.equal(judgeResponse('GET', respond(429), now), 'again');
  assert.equal(judgeResponse('GET', respond(404), now), 'use');
});

test('a quota that is used up says when there is a new one', () => {
  const reset = String(now.getTime() / 1_000 + 60);
  const used = respond(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset });
  assert.deepEqual(judgeResponse('GET', used, now), { pause: 60_000 });
  assert.equal(judgeResponse('GET', respond(403), now), 'use');
});

test('all loads share the rate of a server, and its pauses', async () => {
  let clock = 0;
  const slept: number[] = [];
  const paces = createPaces({
    now: () => clock,
    async sleep(milliseconds) {
      slept.push(milliseconds);
      clock += milliseconds;
    },
  });
  const signal = new AbortController().signal;
  const limit = { requests: 2, seconds: 1 };
  for (let request = 0; request < 3; request += 1) await paces.find('a').wait(limit, signal);
  assert.deepEqual(slept, [500, 500]);
  paces.find('a').pause(4_000);
  await paces.find('b').wait(undefined, signal);
  assert.equal(slept.length, 2);
  await paces.find('a').wait(undefined, signal);
  assert.equal(clock, 5_000);
  // A longer timer ends at once, and the wait would spin.
  const yearly = { requests: 1, seconds: 31_536_000 };
  for (let request = 0; request < 2; request += 1) await paces.find('c').wait(yearly, signal);
  assert.ok(Math.max(...slept) < 2 ** 31);
  assert.ok(clock > 31_536_000_000);
});
