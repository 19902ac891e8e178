// `npm run fuzz-time` sends hostile texts in every string of every operation, and in the answers of hosts and
// models. It prints each that holds the event loop of the server for long, and each response that is missing or 500.
import { readCommandLine } from '../../scripts/command-line.ts';
import { onOwnPostgres, THROWAWAY_SETTINGS } from '../../scripts/own-postgres.ts';
import { fuzzAnswers } from './answers.ts';
import { fuzzTime, type Measured, type Probe, startTimeFuzzServer } from './time-fuzz.ts';

const { values, count } = readCommandLine(
  'npm run fuzz-time -- [--operation PART] [--slot PART] [--shape PART] [--one-in N] [--longest MILLISECONDS]',
  {
    operation: { type: 'string', default: '' },
    slot: { type: 'string', default: '' },
    shape: { type: 'string', default: '' },
    'one-in': { type: 'string', default: '1' },
    longest: { type: 'string', default: '250' },
  },
);
const longest = count('--longest', values.longest);
const oneIn = count('--one-in', values['one-in']);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());
const progressEvery = 1_000;
const began = performance.now();
const statuses: Record<number, number> = {};
let sent = 0;
let found = 0;

function chooses({ operationId, slot, shape }: Probe, number: number): boolean {
  return (
    number % oneIn === 0 &&
    operationId.includes(values.operation) &&
    slot.includes(values.slot) &&
    shape.includes(values.shape)
  );
}

function onMeasured({ operationId, slot, shape, characters, status, milliseconds, gap }: Measured): void {
  sent += 1;
  statuses[status] = (statuses[status] ?? 0) + 1;
  if (sent % progressEvery === 0) console.log(`${sent} sent, ${secondsGone()} s`);
  if (gap.processorMilliseconds < longest && status !== 0 && status !== 500) return;
  found += 1;
  console.log(
    `${operationId}, ${slot}, ${characters} characters of ${shape}: ${status} after ${milliseconds.toFixed(0)} ms; ` +
      `the loop was held ${gap.milliseconds.toFixed(0)} ms, ${gap.processorMilliseconds.toFixed(0)} ms of the processor`,
  );
}

function secondsGone(): number {
  return Math.round((performance.now() - began) / 1_000);
}

await onOwnPostgres(
  stopping.signal,
  async (url) => {
    process.env.HEADGATE_TEST_DATABASE_URL = url;
    const server = await startTimeFuzzServer();
    try {
      await fuzzTime(server, { chooses, onMeasured, signal: stopping.signal });
    } finally {
      await server.stop();
    }
    await fuzzAnswers({ chooses, onMeasured, signal: stopping.signal });
  },
  THROWAWAY_SETTINGS,
);
console.log(`${sent} sent in ${secondsGone()} s, ${JSON.stringify(statuses)}, ${found} found`);
process.exitCode = found === 0 ? 0 : 1;
