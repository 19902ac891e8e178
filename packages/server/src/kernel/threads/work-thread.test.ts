import assert from 'node:assert/strict';
import { once } from 'node:events';
import { getPriority, platform } from 'node:os';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { createWorkThread } from './work-thread.ts';

const echo = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (order) => {
    if (order === 'exit') process.exit(3);
    parentPort.postMessage({ result: order });
    if (order === 'answer, then exit') setTimeout(() => process.exit(3), 20);
  });
  parentPort.postMessage({ ready: true });`;
const neverReady = 'process.exit(3)';

function createThread(code: string) {
  const thread = createWorkThread<string, string>({
    module: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
    megabytes: 64,
    waiting: { ofOne: 5, inAll: 5 },
    refuse: () => new Error('full'),
  });
  return (order: string) => thread.run('owner', order, { milliseconds: 120_000 });
}

const outcome = /^Error: The thread ended with the code 3 before it answered/;

test('the order of a thread that ends by itself fails at once; the next one has another thread', async () => {
  const run = createThread(echo);
  await assert.rejects(run('exit'), outcome);
  assert.equal(await run('next'), 'next');
  await assert.rejects(createThread(neverReady)('any'), outcome);
});

test('a thread that ends while it is idle gets no order', async () => {
  const run = createThread(echo);
  const begun = new Promise<Worker>((resolve) => process.once('worker', resolve));
  assert.equal(await run('answer, then exit'), 'answer, then exit');
  await once(await begun, 'exit');
  assert.equal(await run('next'), 'next');
});

test('the work of a thread has a lower priority than requests', async (t) => {
  if (platform() !== 'linux') return t.skip('only Linux has a priority for each thread');
  const served = new URL('serve-thread.ts', import.meta.url);
  const run = createThread(`
    import { getPriority } from 'node:os';
    import { serveThread } from ${JSON.stringify(served.href)};
    serveThread(() => String(getPriority()));`);
  const own = getPriority();
  assert.ok(Number(await run('any')) > own);
  assert.equal(getPriority(), own);
});
