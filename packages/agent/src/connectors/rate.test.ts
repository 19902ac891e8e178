import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaces } from './rate.ts';

const never = new AbortController().signal;
const limit = { requests: 1, seconds: 1 };

/** A clock that each sleep moves. `during` happens in the middle of the first one. */
function createScene(during: () => void = () => undefined) {
  let clock = 0;
  let isFirst = true;
  const paces = createPaces({
    now: () => clock,
    async sleep(milliseconds) {
      const until = clock + milliseconds;
      if (isFirst) during();
      isFirst = false;
      clock = Math.max(clock, until);
    },
  });
  return { pace: paces.find('https://api.example.com'), now: () => clock };
}

test('a pause holds back requests that already wait for their turn', async () => {
  const { pace, now } = createScene(() => pace.pause(30_000));
  await pace.wait(limit, never);
  assert.equal(now(), 0);
  await pace.wait(limit, never);
  assert.equal(now(), 30_000);
  await pace.wait(limit, never);
  assert.equal(now(), 31_000, 'and one at a time after it');
});

test('a pause holds back requests without a limit, and a short one does not speed up others', async () => {
  const { pace, now } = createScene();
  pace.pause(500);
  await pace.wait(undefined, never);
  assert.equal(now(), 500);
  await pace.wait(limit, never);
  pace.pause(1);
  await pace.wait(limit, never);
  assert.equal(now(), 1_500);
});
