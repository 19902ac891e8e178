/** What readers of the event stream cost writes: their rate and times with 100 readers and with none. */
import { type Child, startChild } from './child.ts';
import type { ReadersOrder, ReadersReply } from './event-readers-process.ts';
import { median, spread, verdictAtLeast, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import type { LoadResult } from './load-process.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';
import { requestText, uniqueNumber } from './request.ts';
import { startServer } from './server-process.ts';
import { projectWithVariables } from './variables.ts';
import type { Work } from './work.ts';

const readers = 100;
const connections = 16;
const warmUpMilliseconds = 3_000;

/** `cost`: processor time of a write, in microseconds, of the server and PostgreSQL. */
type Written = LoadResult & { cost: number };

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
  const body = { name: `written_${uniqueNumber}`, type: 'TEXT', behaviour: 'SHARED', value: 'a value' };
  const requests = [
    requestText('POST', `/dpc/v1/projects/${projectId}/variables`, { token: server.token, body }),
  ];
  const readCost = () => processorSeconds(server.pid) + postgresSeconds(server.dataDirectory);
  async function write(milliseconds: number): Promise<Written> {
    const before = readCost();
    const result = await load.run({ port: server.port, requests, connections, milliseconds });
    return { ...result, cost: ((readCost() - before) * 1e6) / result.answers };
  }
  const rate = ({ answers, seconds }: LoadResult) => answers / seconds;

  await write(warmUpMilliseconds);
  const [ratios, followedRounds, aloneRounds]: [number[], Written[], Written[]] = [[], [], []];
  for (let round = 0; round < settings.rounds; round += 1) {
    const alone = await write(settings.milliseconds);
    await ask({ order: 'open', port: server.port, token: server.token, readers });
    const followed = await write(settings.milliseconds);
    const { counts } = await ask({ order: 'count' });
    await ask({ order: 'close' });
    if (counts.some((count) => count !== followed.answers))
      throw new Error(`Each reader must get ${followed.answers} events; they got ${counts.join(', ')}.`);
    ratios.push(rate(followed) / rate(alone));
    followedRounds.push(followed);
    aloneRounds.push(alone);
  }
  for (const [name, results] of [
    ['no readers', aloneRounds],
    [`${readers} readers`, followedRounds],
  ] as const) {
    const p99 = median(results.map(({ p99Milliseconds }) => p99Milliseconds));
    const cost = median(results.map((result) => result.cost));
    console.log(
      `  ${name}: ${spread(results.map(rate), 0)} writes per second, p99 ${p99.toFixed(1)} ms; ` +
        `each takes ${cost.toFixed(0)} µs of the server and PostgreSQL`,
    );
  }
  const costs = followedRounds.map(({ cost }, round) => cost / (aloneRounds[round]?.cost ?? Number.NaN));
  return [
    {
      work: `POST variable with ${readers} readers of the event stream, against none`,
      measured: `${spread(ratios)} × the rate`,
      limit: '≥ 0.9 × the rate',
      verdict: verdictAtLeast(median(ratios), 0.9, 0.95),
      rounds: ratios,
    },
    {
      work: 'the same: processor time of the server and PostgreSQL',
      measured: `${spread(costs)} × the time`,
      limit: '≤ 1.1 × the time',
      verdict: verdictAtMost(median(costs), 1.1),
      rounds: costs,
    },
  ];
};
