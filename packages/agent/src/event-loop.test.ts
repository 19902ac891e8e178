import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { watchLoop } from './event-loop.ts';
import { createLog } from './log.ts';

test('an event loop that was blocked for more than half a second is logged with the time', async (t) => {
  const lines: string[] = [];
  const { promise: logged, resolve } = Promise.withResolvers<void>();
  const write = (line: string) => {
    lines.push(line);
    resolve();
  };
  const watch = watchLoop(createLog({ level: 'info', write }));
  t.after(() => watch.stop());
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  // The timer of the watch does not keep the process.
  await Promise.race([logged, delay(120_000)]);
  const { level, message, milliseconds } = JSON.parse(lines[0] ?? '{}');
  assert.deepEqual([level, message], ['warn', 'the event loop was blocked']);
  assert.ok(milliseconds > 500, String(milliseconds));
});
