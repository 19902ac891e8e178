/** Bodies full of faults, up to the limit: the time to validate one, and how long other requests wait. */
import { setTimeout as delay } from 'node:timers/promises';
import { median, percentile, verdictAtMost } from './finding.ts';
import { startServer } from './server-process.ts';
import type { Work } from './work.ts';

const limitBytes = 8 * 1_048_576;
const rounds = 3;
const pauseMilliseconds = 5;

const fillBody = (unit: string, before: string, after: string, bytes: number) =>
  before +
  Array(Math.floor((bytes - before.length - after.length) / (unit.length + 1)))
    .fill(unit)
    .join(',') +
  after;
const grid = '{"name":"g","type":"GRID","behaviour":"SHARED","value":{"columns":[],"rows":[';
const row = (cell: string) => `[${Array(100).fill(cell).join(',')}]`;
const kinds: ((bytes: number) => string)[] = [
  (bytes) => fillBody(row('true'), grid, ']}}', bytes),
  (bytes) => fillBody('[true]', grid, ']}}', bytes),
  (bytes) => fillBody('{}', '{"value":[', ']}', bytes),
  (bytes) => fillBody('"x"', '[', ']', bytes),
  (bytes) => fillBody('7', grid, ']}}', bytes),
  (bytes) => fillBody('[[],[],[],[],[],[],[],[],[],[]]', grid, ']}}', bytes),
];
const sizes = [20_000, 40_000, 640_000, limitBytes];

export const faultyBodies: Work = async ({ profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(profileFolder), (started) => started.stop());
  const { projectId } = await server.call('POST', '/projects', {
    name: 'bench',
    warehouse: 'DUCKDB',
    agentDeploymentType: 'HYBRID',
  });
  const variables = `/projects/${String(projectId)}/variables`;
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${server.port}/dpc/v1${variables}`;

  // Created before the measurement: creating one would delay the requests that this process measures.
  const bodies = kinds.flatMap((kind) => sizes.map((bytes) => Buffer.from(kind(bytes))));
  const waits: number[] = [];
  let measuring = true;
  const others = (async () => {
    while (measuring) {
      const sentAt = performance.now();
      await server.call('GET', variables);
      waits.push(performance.now() - sentAt);
      await delay(pauseMilliseconds);
    }
  })();
  const taken = bodies.map((): number[] => []);
  // The first large body starts the thread.
  await fetch(url, { method: 'POST', headers, body: bodies.at(-1) ?? '' });
  for (let round = 0; round < rounds; round++) {
    for (const [index, body] of bodies.entries()) {
      const sentAt = performance.now();
      const answer = await fetch(url, { method: 'POST', headers, body });
      // A body with too many values has one fault and no list.
      const { violations = [] } = (await answer.json()) as { violations?: unknown[] };
      if (answer.status !== 400 || violations.length > 100)
        throw new Error(`a body full of faults returned ${answer.status}`);
      taken[index]?.push((performance.now() - sentAt) / Math.max(1, body.length / 1e6));
    }
  }
  measuring = false;
  await others;
  /** One value for each body, so that one pause of the machine does not count. */
  const millisecondsPerMegabyte = taken.map(median);
  const worst = Math.max(...millisecondsPerMegabyte);
  const p99 = percentile(waits, 0.99);
  return [
    {
      work: 'a body of faults, 20 kB to 8 MiB, answered',
      measured: `worst ${worst.toFixed(1)} ms a MB, median ${percentile(millisecondsPerMegabyte, 0.5).toFixed(1)}`,
      limit: '≤ 50 ms a MB',
      verdict: verdictAtMost(worst, 50),
      rounds: millisecondsPerMegabyte,
    },
    {
      work: 'other requests meanwhile',
      measured: `p99 ${p99.toFixed(1)} ms, most ${Math.max(...waits).toFixed(1)} ms, of ${waits.length}`,
      limit: 'p99 ≤ 50 ms',
      verdict: verdictAtMost(p99, 50),
      rounds: waits,
    },
  ];
};
