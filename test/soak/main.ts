// One installation under load for some seconds: clients write and read variables, publish versions and run
// pipelines, in an order that the seed chooses. `npm run soak` starts it. It fails when an answer is
// unexpected, an acknowledged write is missing, a run fails, or the server grows, logs an error or does not
// end in order.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { seededRandom } from '../../packages/server/testing/seeded-random.ts';
import { readCommandLine } from '../../scripts/command-line.ts';
import { Installation } from '../acceptance/harness/installation.ts';
import { Project } from '../acceptance/harness/project.ts';
import { SoakClient } from './soak-client.ts';

const CLIENTS = 4;
const WARM_UP_SHARE = 0.3;
/** The heap, the caches and the connections have their size by then. In a shorter run only the total counts. */
const WARM_UP_SECONDS = 15;
const GROWTH_MEGABYTES = 150;
const MOST_MEGABYTES = 600;

const { values, count } = readCommandLine('node test/soak/main.ts [--seconds N] [--seed N]', {
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: String(randomInt(1, 1_000_000_000)) },
});
const seconds = count('--seconds', values.seconds);
const seed = count('--seed', values.seed);

async function residentMegabytes(headgate: Installation): Promise<number> {
  const { pid } = await headgate.process('server');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

async function soak(headgate: Installation): Promise<void> {
  const start = await headgate.start('node');
  const project = await Project.create(headgate.client());
  const random = seededRandom(seed);
  const clients = Array.from(
    { length: CLIENTS },
    (_, number) =>
      new SoakClient(`c${number}`, headgate.client(), project.id, seededRandom(random() * 2 ** 32)),
  );
  const [publisher] = clients;
  await publisher?.publish();
  const began = performance.now();
  const workUntil = (share: number) =>
    Promise.all(clients.map((client) => client.work(began + share * seconds * 1_000)));
  await workUntil(WARM_UP_SHARE);
  const before = await residentMegabytes(headgate);
  await workUntil(1);
  const after = await residentMegabytes(headgate);
  for (const client of clients) await client.requireAllStored();
  assert.ok(after < MOST_MEGABYTES, `the server has ${after} MB`);
  const isWarm = WARM_UP_SHARE * seconds >= WARM_UP_SECONDS;
  assert.ok(!isWarm || after - before < GROWTH_MEGABYTES, `the server grew from ${before} to ${after} MB`);
  assert.equal(await headgate.interrupt(start), 0, 'the exit code of the server');
  assert.deepEqual(headgate.processes(), []);
  const faults = headgate.output.split('\n').filter((line) => /"level":(50|60)/.test(line));
  assert.deepEqual(faults, []);
  const done = clients.reduce((sum, client) => sum + client.actions, 0);
  console.log(`${done} actions in ${seconds} s, server ${before.toFixed(0)} to ${after.toFixed(0)} MB`);
}

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());
const headgate = await Installation.create({ fromEmpty: true });
try {
  const stopped = new Promise<never>((_, reject) => {
    stopping.signal.addEventListener('abort', () => reject(new Error('a signal stopped it')));
  });
  await Promise.race([soak(headgate), stopped]);
} catch (failure) {
  console.error(failure);
  process.exitCode = 1;
} finally {
  await headgate.remove();
}
process.exit();
