/** A short time fuzz, with other texts each time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import { fuzzAnswers } from './answers.ts';
import { fuzzTime, type Measured, startTimeFuzzServer } from './time-fuzz.ts';

/** One in so many operations gets one in so many of its probes. */
const operationsOneIn = 8;
const oneIn = 50;
const oneAnswerIn = 60;
/** On a busy machine each test ends after this time, with fewer texts. */
const milliseconds = 120_000;
/** Processor time of the main thread without a turn of the loop: the texts of these tests took seconds to minutes. */
const longestMilliseconds = 1_000;

function describeSlow(slow: readonly Measured[]): string {
  return slow
    .map(
      ({ operationId, slot, shape, characters, gap }) =>
        `${operationId}, ${slot}: ${characters} characters of ${shape} hold the loop ${gap.processorMilliseconds.toFixed(0)} ms`,
    )
    .join('\n');
}

function isSlow({ gap }: Measured): boolean {
  return gap.processorMilliseconds > longestMilliseconds;
}

test(`hostile texts in all operations do not hold the event loop (TEST_SEED=${testSeed})`, async () => {
  const server = await startTimeFuzzServer();
  const slow: Measured[] = [];
  const rounds = roundsOr(1);
  let sent = 0;
  try {
    await fuzzTime(server, {
      choosesOperation: (number) => (number + testSeed) % operationsOneIn < rounds,
      chooses: (_, number) => (number + testSeed) % oneIn < rounds,
      onMeasured(measured) {
        sent += 1;
        if (isSlow(measured)) slow.push(measured);
      },
      signal: AbortSignal.timeout(milliseconds * rounds),
    });
  } finally {
    await server.stop();
  }
  assert.ok(sent > 20, `${sent} texts were sent`);
  assert.equal(describeSlow(slow), '');
});

test(`hostile answers of hosts and models do not hold it either (TEST_SEED=${testSeed})`, async () => {
  const slow: Measured[] = [];
  const rounds = roundsOr(1);
  let sent = 0;
  await fuzzAnswers({
    chooses: (_, number) => (number + testSeed) % oneAnswerIn < rounds,
    onMeasured(measured) {
      sent += 1;
      if (isSlow(measured)) slow.push(measured);
    },
    signal: AbortSignal.timeout(milliseconds * rounds),
  });
  assert.ok(sent > 0, `${sent} answers were sent`);
  assert.equal(describeSlow(slow), '');
});

test('the time fuzz sees a text that holds the loop', async () => {
  const server = await startTimeFuzzServer();
  try {
    await server.takeGap();
    await server.holdLoop(longestMilliseconds + 500);
    const { processorMilliseconds } = await server.takeGap();
    assert.ok(processorMilliseconds > longestMilliseconds, `${processorMilliseconds} ms`);
  } finally {
    await server.stop();
  }
});
