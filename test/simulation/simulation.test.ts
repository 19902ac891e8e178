/** Schedules of the lease protocol (README.md), in two processes, as `npm run simulate` runs them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runSchedule } from './schedule.ts';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
const schedulesEach = 175;

async function simulate(seed: number): Promise<string> {
  const args = [program, String(schedulesEach), '--seed', String(seed)];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const [code] = await once(child, 'close');
  assert.equal(code, 0, output);
  return output;
}

test('350 schedules have one owner per epoch, end in time, free all places, and repeat no effect', async () => {
  const [one, other] = await Promise.all([simulate(1), simulate(1 + schedulesEach)]);
  for (const output of [one, other]) {
    const seen = JSON.parse(output.trim().split('; ').at(-1) ?? '');
    for (const end of ['SUCCESS', 'FAILED', 'CANCELLED']) assert.ok(seen.ends[end] > 7, output);
    assert.ok(seen.crashes > 75, output);
  }
});

test('the same seed makes the same schedule', async () => {
  assert.deepEqual(await runSchedule(61), await runSchedule(61));
});
