import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createOccupant, type LoopGap, markLoop, occupyLoop, watchLoop } from './event-loop.ts';

function block(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

/** The gaps of at least a second: a busy machine can cause shorter ones. */
async function watchGaps(work: () => Promise<unknown>): Promise<LoopGap[]> {
  const gaps: LoopGap[] = [];
  const watch = watchLoop((gap) => gaps.push(gap));
  await work();
  await delay(150);
  watch.stop();
  return gaps.filter(({ milliseconds }) => milliseconds >= 1_000);
}

test('a gap names the operation and the phase that caused it', async () => {
  const [slow, quick] = [createOccupant('slow'), createOccupant('quick')];
  const gaps = await watchGaps(async () => {
    const slowly = occupyLoop(slow, 'handler', async () => {
      await delay(20);
      markLoop('rows of the database');
      block(1_200);
    });
    const quickly = occupyLoop(quick, 'handler', async () => {
      await delay(30);
      markLoop('rows of the database');
    });
    await Promise.all([slowly, quickly]);
  });
  assert.deepEqual(
    gaps.map(({ operation, phase }) => [operation, phase]),
    [['slow', 'rows of the database']],
  );
  assert.ok(slow.longestGap >= 1_200);
  assert.equal(quick.longestGap, 0);
});

test('code that no mark names counts for other', async () => {
  const gaps = await watchGaps(async () => {
    await delay(250);
    block(1_200);
  });
  assert.deepEqual(
    gaps.map(({ operation }) => operation),
    ['other'],
  );
});
