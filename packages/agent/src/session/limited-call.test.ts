import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { callWithin } from './limited-call.ts';

const never = { sleep: () => new Promise<void>(() => undefined) };

test('a call ends with the reason of a signal, and leaves no listener', async () => {
  const stop = new AbortController();
  const call = callWithin(never, 1_000, [stop.signal], (signal) => waitForEnd(signal));
  stop.abort(new Error('stopped'));
  await assert.rejects(call, { message: 'stopped' });
  assert.deepEqual(getEventListeners(stop.signal, 'abort'), []);
  await assert.rejects(callWithin(never, 1_000, [stop.signal], waitForEnd), { message: 'stopped' });
});

test('a call ends when its time is over', async () => {
  const time = { sleep: () => Promise.resolve() };
  await assert.rejects(callWithin(time, 1_000, [], waitForEnd), {
    name: 'TimeoutError',
    message: 'no answer after 1000 ms',
  });
});

test('the sleep of a call that has an answer is ended', async () => {
  const sleeping = Promise.withResolvers<AbortSignal | undefined>();
  const time = {
    sleep(_: number, signal?: AbortSignal) {
      sleeping.resolve(signal);
      return never.sleep();
    },
  };
  assert.equal(await callWithin(time, 1_000, [], () => Promise.resolve(7)), 7);
  assert.equal((await sleeping.promise)?.aborted, true);
});

function waitForEnd(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason as Error);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
