/**
 * Hostile texts in every string of every operation, and in the answers of hosts and models: how long other requests
 * wait meanwhile, and how long the event loop of the server is held.
 */
import { onOwnPostgres, THROWAWAY_SETTINGS } from '../scripts/own-postgres.ts';
import { fuzzAnswers } from '../test/time-fuzz/answers.ts';
import { shapeNames } from '../test/time-fuzz/shapes.ts';
import {
  fuzzTime,
  type Measured,
  startTimeFuzzServer,
  type TimeFuzzServer,
} from '../test/time-fuzz/time-fuzz.ts';
import { type Finding, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import { requestText } from './request.ts';
import type { Work } from './work.ts';

/** One in so many probes is sent: about 20,000 in all. */
const oneIn = 2;
const warmUpOneIn = 40;
const readsPerSecond = 100;
const chunkMilliseconds = 3_000;
const quietChunks = 5;
const mostMilliseconds = 50;
const mostTimesQuiet = 3;
const longestGapMilliseconds = 250;

export const hostile: Work = () =>
  onOwnPostgres(
    new AbortController().signal,
    async (url) => {
      process.env.HEADGATE_TEST_DATABASE_URL = url;
      return measure();
    },
    THROWAWAY_SETTINGS,
  );

async function measure(): Promise<Finding[]> {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startTimeFuzzServer(), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (started) => started.stop());
  let requests = await listReads(server);
  const readMeanwhile = async () => {
    const { port } = server;
    const order = { port, connections: 4, requests, rate: readsPerSecond, milliseconds: chunkMilliseconds };
    return (await load.run(order)).p99Milliseconds;
  };
  await readMeanwhile();
  // The first requests of a process wait for its code to be compiled, whatever they hold.
  await fuzzTime(server, { chooses: (_, number) => number % warmUpOneIn === 0, onMeasured: () => undefined });
  const quiet: number[] = [];
  for (let chunk = 0; chunk < quietChunks; chunk++) quiet.push(await readMeanwhile());
  const worstQuiet = Math.max(...quiet);

  const gaps: Measured[] = [];
  const p99s: { shape: string; p99: number }[] = [];
  let sent = 0;
  for (const shape of shapeNames) {
    let running = true;
    // The token of a place expires after half an hour.
    requests = await listReads(server);
    const reading = (async () => {
      while (running) p99s.push({ shape, p99: await readMeanwhile() });
    })();
    try {
      await fuzzTime(server, {
        chooses: (probe, number) => probe.shape === shape && number % oneIn === 0,
        onMeasured(measured) {
          sent += 1;
          gaps.push(measured);
        },
      });
    } finally {
      running = false;
      await reading;
    }
    console.log(
      `  ${shape}: ${sent} sent, worst p99 ${worst(p99s).p99.toFixed(1)} ms (${worst(p99s).shape})`,
    );
  }
  await fuzzAnswers({ chooses: () => true, onMeasured: (measured) => void gaps.push(measured) });

  const longest = gaps.reduce((one, other) => (one.gap.milliseconds > other.gap.milliseconds ? one : other));
  const waited = worst(p99s);
  const limit = Math.max(mostMilliseconds, mostTimesQuiet * worstQuiet);
  return [
    {
      work: `others' p99 during hostile texts, ${sent} requests`,
      measured: `worst ${waited.p99.toFixed(1)} ms (${waited.shape}); quiet ${worstQuiet.toFixed(1)} ms`,
      limit: `≤ ${limit.toFixed(0)} ms`,
      verdict: verdictAtMost(waited.p99, limit),
      rounds: p99s.map(({ p99 }) => p99),
    },
    {
      work: 'longest gap of the loop',
      measured: `${longest.gap.milliseconds.toFixed(0)} ms (${longest.operationId} ${longest.slot}, ${longest.shape})`,
      limit: `≤ ${longestGapMilliseconds} ms`,
      verdict: verdictAtMost(longest.gap.milliseconds, longestGapMilliseconds),
      rounds: gaps.map(({ gap }) => gap.milliseconds),
    },
  ];
}

/** What another account reads meanwhile. */
async function listReads(server: TimeFuzzServer): Promise<string[]> {
  const { path, token } = await server.createPlace();
  return [requestText('GET', `${path}/variables`, { token })];
}

function worst<Each extends { p99: number }>(all: readonly Each[]): Each {
  return all.reduce((one, other) => (one.p99 > other.p99 ? one : other));
}
