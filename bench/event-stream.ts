/**
 * What readers of the event stream cost writes, with 100 readers and with none: the time of a write at a fixed
 * rate, and the rate and the processor time of a write at saturation. The readers and the load share the
 * processors with the server, so the saturated rate falls by their work, too.
 */
import { type Child, startChild } from './child.ts';
import type { ReadersOrder, ReadersReply } from './event-readers-process.ts';
import { type Finding, median, spread, verdictAtLeast, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import type { LoadResult } from './load-process.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';
import { requestText, uniqueNumber } from './request.ts';
import { type MeasuredServer, startServer, tokenFor } from './server-process.ts';
import { projectWithVariables } from './variables.ts';
import type { Work } from './work.ts';

const readers = 100;
/** As many as a caller can have. */
const readersOfToken = 20;
const connections = 16;
/** Writes a second of a busy installation. */
const steadyRate = 500;
const warmUpMilliseconds = 3_000;

/** Processor time of a write, in microseconds, of the server and of PostgreSQL. */
type Written = LoadResult & { server: number; postgres: number };

export const eventStream: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const child: Child = ending.adopt(
    await startChild(new URL('./event-readers-process.ts', import.meta.url)),
    (each) => each.stop(),
  );
  const ask = (order: ReadersOrder) => child.ask(order) as Promise<ReadersReply>;
  const { projectId } = await projectWithVariables(server, 1);
  const callers = Array.from({ length: readers / readersOfToken }, (_, index) =>
    createCaller(server, `reader ${index}`),
  );
  const tokens = await Promise.all(callers);
  const body = { name: `written_${uniqueNumber}`, type: 'TEXT', behaviour: 'SHARED', value: 'a value' };
  const requests = [
    requestText('POST', `/dpc/v1/projects/${projectId}/variables`, { token: server.token, body }),
  ];
  async function write(milliseconds: number, rate?: number): Promise<Written> {
    const before = readProcessorTimes(server);
    const paced = rate === undefined ? {} : { rate };
    const result = await load.run({ port: server.port, requests, connections, milliseconds, ...paced });
    const after = readProcessorTimes(server);
    const each = (part: 'server' | 'postgres') => ((after[part] - before[part]) * 1e6) / result.answers;
    return { ...result, server: each('server'), postgres: each('postgres') };
  }

  /** Rounds without and with readers, in turns. Each reader must get each event. */
  async function compare(rate?: number): Promise<Record<'alone' | 'followed', Written[]>> {
    const found: Record<'alone' | 'followed', Written[]> = { alone: [], followed: [] };
    for (let round = 0; round < settings.rounds; round += 1) {
      found.alone.push(await write(settings.milliseconds, rate));
      await ask({ order: 'open', port: server.port, tokens, readersOfToken });
      const followed = await write(settings.milliseconds, rate);
      const { counts } = await ask({ order: 'count' });
      await ask({ order: 'close' });
      if (counts.some((count) => count !== followed.answers))
        throw new Error(`Each reader must get ${followed.answers} events; they got ${counts.join(', ')}.`);
      found.followed.push(followed);
    }
    return found;
  }

  await write(warmUpMilliseconds);
  const steady = await compare(steadyRate);
  const saturated = await compare();
  print(`${steadyRate} writes a second`, steady);
  print('saturated', saturated);
  return [...judgeSteady(steady), ...judgeSaturated(saturated)];
};

/** Returns a token of a new caller that reads all events. */
async function createCaller(server: MeasuredServer, name: string): Promise<string> {
  const { clientId, clientSecret } = await server.call('POST', '/credentials', {
    name,
    role: 'SUPER_ADMIN',
  });
  return tokenFor(server.port, String(clientId), String(clientSecret));
}

type Compared = Record<'alone' | 'followed', Written[]>;

function readProcessorTimes({ pid, dataDirectory }: MeasuredServer) {
  return { server: processorSeconds(pid), postgres: postgresSeconds(dataDirectory) };
}

const countPerSecond = ({ answers, seconds }: LoadResult) => answers / seconds;
const sumCost = ({ server, postgres }: Written) => server + postgres;

function computeRatios({ alone, followed }: Compared, pick: (written: Written) => number): number[] {
  return followed.map((each, round) => pick(each) / pick(alone[round] as Written));
}

function print(work: string, { alone, followed }: Compared): void {
  for (const [name, results] of [
    ['no readers', alone],
    [`${readers} readers`, followed],
  ] as const) {
    const middle = (pick: (written: Written) => number) => median(results.map(pick));
    console.log(
      `  ${work}, ${name}: ${spread(results.map(countPerSecond), 0)} writes per second, ` +
        `p50 ${middle((each) => each.medianMilliseconds).toFixed(2)} ms, ` +
        `p99 ${middle((each) => each.p99Milliseconds).toFixed(1)} ms; each takes ` +
        `${middle((each) => each.server).toFixed(0)} µs of the server and ` +
        `${middle((each) => each.postgres).toFixed(0)} µs of PostgreSQL`,
    );
  }
}

function judgeSteady(steady: Compared): Finding[] {
  const ratios = computeRatios(steady, ({ medianMilliseconds }) => medianMilliseconds);
  return [
    {
      work: `${steadyRate} writes a second with ${readers} readers of the event stream, against none: p50 of a write`,
      measured: `${spread(ratios)} × the time`,
      limit: '≤ 1.1 × the time',
      verdict: verdictAtMost(median(ratios), 1.1),
      rounds: ratios,
    },
  ];
}

function judgeSaturated(saturated: Compared): Finding[] {
  const costs = computeRatios(saturated, sumCost);
  const rates = computeRatios(saturated, countPerSecond);
  return [
    {
      work: 'as many writes as possible: processor time of the server and PostgreSQL for each',
      measured: `${spread(costs)} × the time`,
      limit: '≤ 1.1 × the time',
      verdict: verdictAtMost(median(costs), 1.1),
      rounds: costs,
    },
    {
      work: 'the same: the rate, with the readers on the same processors',
      measured: `${spread(rates)} × the rate`,
      limit: '≥ 0.9 × the rate',
      verdict: verdictAtLeast(median(rates), 0.9, 0.95),
      rounds: rates,
    },
  ];
}
