/**
 * Hostile texts in every string of every operation, and in the answers of hosts and models: how long other requests
 * wait meanwhile, and how long the event loop of the server is held.
 *
 * The wait during a shape may be 50 ms, or three times that during the same load without the text: as many requests
 * of the same sizes at the same times, with words in place of the text and one long string in place of a body. The
 * shape that delays others most in each group is sent again that way, and so is each above 50 ms.
 */
import { onOwnPostgres, THROWAWAY_SETTINGS } from '../scripts/own-postgres.ts';
import { fuzzAnswers } from '../test/time-fuzz/answers.ts';
import { bodyShapes, shapeNames, shapes } from '../test/time-fuzz/shapes.ts';
import {
  fuzzTime,
  type Measured,
  type Probe,
  startTimeFuzzServer,
  type TimeFuzzServer,
} from '../test/time-fuzz/time-fuzz.ts';
import { type Finding, verdictAtMost } from './finding.ts';
import { type LoadGenerator, startLoadGenerator } from './load.ts';
import { requestText } from './request.ts';
import type { Work } from './work.ts';

/** One in so many probes is sent: about 20,000 in all. */
const oneIn = 2;
const warmUpOneIn = 40;
const readsPerSecond = 100;
const chunkMilliseconds = 3_000;
const quietChunks = 5;
const mostMilliseconds = 50;
const mostTimesHarmless = 3;
const longestGapMilliseconds = 250;

interface Group {
  name: string;
  shapes: readonly string[];
  chooses(probe: Probe): boolean;
}

/** A few shapes are both texts and bodies. */
const groups: readonly Group[] = [
  { name: 'texts', shapes: Object.keys(shapes), chooses: ({ slot }) => slot !== 'body' },
  { name: 'bodies', shapes: Object.keys(bodyShapes), chooses: ({ slot }) => slot === 'body' },
];

interface Scene {
  server: TimeFuzzServer;
  load: LoadGenerator;
}

interface Shaped {
  group: Group;
  shape: string;
  probes: readonly Measured[];
  /** Of other requests, in each chunk of time. */
  p99s: readonly number[];
  /** The worst of them, and that of the same load without the text. */
  p99: number;
  harmlessP99?: number;
}

export const hostile: Work = ({ shape }) =>
  onOwnPostgres(
    new AbortController().signal,
    async (url) => {
      process.env.HEADGATE_TEST_DATABASE_URL = url;
      return measure(shape);
    },
    THROWAWAY_SETTINGS,
  );

async function measure(partOfShape: string): Promise<Finding[]> {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startTimeFuzzServer(), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (started) => started.stop());
  const scene = { server, load };
  const quiet = await warmUp(scene);
  const shaped: Shaped[] = [];
  for (const group of groups) {
    const measured: Shaped[] = [];
    for (const shape of group.shapes) {
      if (!shape.includes(partOfShape)) continue;
      const one = await measureShape(scene, group, shape);
      measured.push(one);
      console.log(
        `  ${group.name}, ${shape}: ${one.probes.length} sent, others' p99 ${one.p99.toFixed(1)} ms`,
      );
    }
    const worst = Math.max(...measured.map(({ p99 }) => p99));
    for (const one of measured) {
      if (one.p99 < worst && one.p99 <= mostMilliseconds) continue;
      const { p99 } = await measureShape(scene, group, one.shape, one.probes);
      one.harmlessP99 = p99;
      console.log(`  ${group.name}, the load of ${one.shape} without it: others' p99 ${p99.toFixed(1)} ms`);
    }
    shaped.push(...measured);
  }
  if (shaped.length === 0)
    throw new Error(`no shape has ${partOfShape} in its name: ${shapeNames.join(', ')}`);
  const answers: Measured[] = [];
  await fuzzAnswers({
    chooses: ({ shape }) => shape.includes(partOfShape),
    onMeasured: (measured) => void answers.push(measured),
  });
  return [
    ...groups.flatMap((group) => judgeWaits(group, shaped, quiet)),
    judgeGap([...shaped.flatMap(({ probes }) => probes), ...answers]),
  ];
}

/** Returns the p99 of reads while nothing else is sent. */
async function warmUp(scene: Scene): Promise<number> {
  const requests = await listReads(scene.server);
  await readMeanwhile(scene, requests);
  // The first requests of a process wait for its code to be compiled, whatever they hold.
  await fuzzTime(scene.server, {
    chooses: (_, number) => number % warmUpOneIn === 0,
    onMeasured: () => undefined,
  });
  const quiet: number[] = [];
  for (let chunk = 0; chunk < quietChunks; chunk++) quiet.push(await readMeanwhile(scene, requests));
  return Math.max(...quiet);
}

/** Sends the probes of a shape while another account reads: with `like`, the same load without the text. */
async function measureShape(
  scene: Scene,
  group: Group,
  shape: string,
  like?: readonly Measured[],
): Promise<Shaped> {
  const probes: Measured[] = [];
  const p99s: number[] = [];
  let running = true;
  // The token of a place expires after half an hour.
  const requests = await listReads(scene.server);
  const reading = (async () => {
    while (running) p99s.push(await readMeanwhile(scene, requests));
  })();
  try {
    await fuzzTime(scene.server, {
      chooses: (probe, number) => probe.shape === shape && group.chooses(probe) && number % oneIn === 0,
      onMeasured: (measured) => void probes.push(measured),
      ...(like && { harmlessAfter: like.map(({ sentAfter }) => sentAfter) }),
    });
  } finally {
    running = false;
    await reading;
  }
  return { group, shape, probes, p99s, p99: Math.max(...p99s) };
}

async function readMeanwhile({ server: { port }, load }: Scene, requests: readonly string[]) {
  const order = { port, connections: 4, requests, rate: readsPerSecond, milliseconds: chunkMilliseconds };
  return (await load.run(order)).p99Milliseconds;
}

/** What another account reads meanwhile. */
async function listReads(server: TimeFuzzServer): Promise<string[]> {
  const { path, token } = await server.createPlace();
  return [requestText('GET', `${path}/variables`, { token })];
}

function judgeWaits(group: Group, all: readonly Shaped[], quiet: number): Finding[] {
  const shaped = all.filter((one) => one.group === group);
  if (shaped.length === 0) return [];
  const limitOf = ({ harmlessP99 = 0 }: Shaped) =>
    Math.max(mostMilliseconds, mostTimesHarmless * harmlessP99);
  const excess = (one: Shaped) => one.p99 / limitOf(one);
  const worst = shaped.reduce((one, other) => (excess(one) >= excess(other) ? one : other));
  const sent = shaped.reduce((sum, { probes }) => sum + probes.length, 0);
  const harmless = worst.harmlessP99 === undefined ? '' : `without it ${worst.harmlessP99.toFixed(1)} ms; `;
  return [
    {
      work: `others' p99 during hostile ${group.name}, ${sent} requests`,
      measured: `worst ${worst.p99.toFixed(1)} ms (${worst.shape}); ${harmless}quiet ${quiet.toFixed(1)} ms`,
      limit: `≤ ${limitOf(worst).toFixed(0)} ms`,
      verdict: verdictAtMost(worst.p99, limitOf(worst)),
      rounds: shaped.flatMap(({ p99s }) => p99s),
    },
  ];
}

function judgeGap(gaps: readonly Measured[]): Finding {
  const longest = gaps.reduce((one, other) => (one.gap.milliseconds > other.gap.milliseconds ? one : other));
  return {
    work: 'longest gap of the loop',
    measured: `${longest.gap.milliseconds.toFixed(0)} ms (${longest.operationId} ${longest.slot}, ${longest.shape})`,
    limit: `≤ ${longestGapMilliseconds} ms`,
    verdict: verdictAtMost(longest.gap.milliseconds, longestGapMilliseconds),
    rounds: gaps.map(({ gap }) => gap.milliseconds),
  };
}
