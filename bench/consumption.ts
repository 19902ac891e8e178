/** The consumption of a month by pipeline after 1,000,000 runs, and how fast the server counts these. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const runs = 1_000_000;
const pipelines = 50;
const most = 100;
const month = 'consumedFrom=2026-10-01&consumedBefore=2026-11-01';
const requests = 20;

export const consumption: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const client = new pg.Client(server.connection);
  await client.connect();
  ending.defer(() => client.end());
  const seconds = await countRuns(client);
  await client.query('vacuum analyze consumption, consumption_month');
  const rounds: number[] = [];
  for (let round = 0; round < settings.rounds; round++) rounds.push(await readMonth(server));
  return [
    {
      work: `GET consumption of a month by pipeline, over ${runs.toLocaleString('en')} runs`,
      measured: `${spread(rounds, 1)} ms`,
      limit: `≤ ${most} ms`,
      verdict: verdictAtMost(median(rounds), most),
      rounds,
    },
    {
      work: 'ended runs that the server counts in a second',
      measured: (runs / seconds).toFixed(0),
      limit: '-',
      verdict: 'for information',
      rounds: [runs / seconds],
    },
  ] satisfies Finding[];
};

/** The median of some requests, one after the other, in milliseconds. */
async function readMonth(server: MeasuredServer): Promise<number> {
  const times: number[] = [];
  for (let request = 0; request < requests; request++) {
    const began = performance.now();
    const { results } = await server.call('GET', `/consumption?${month}`);
    times.push(performance.now() - began);
    if ((results as unknown[]).length !== 31) throw new Error('The month has not 31 days.');
  }
  return median(times);
}

/** Returns how many seconds the server took to count them. */
async function countRuns(client: pg.Client): Promise<number> {
  await client.query(
    `insert into consumption_entry (account_id, day, project_id, project_name, environment_name, pipeline_name, kind, runs,
       milliseconds, row_count, byte_count, input_tokens, output_tokens, user_name)
     select account_id, '2026-10-01T00:00:00Z'::timestamptz + n % 31 * interval '1 day', md5((n % 4)::text)::uuid, 'project ' || n % 4,
       case when n % 3 = 0 then 'prod' else 'dev' end, 'folder/Load ' || n % ${pipelines} || '.orch.yaml', 'orchestration', 1,
       n % 10000, n % 1000, 0, 0, 0, 'bench'
     from account, generate_series(1, ${runs}) n`,
  );
  const began = performance.now();
  for (;;) {
    const { rows } = await client.query('select from consumption_entry limit 1');
    if (rows.length === 0) return (performance.now() - began) / 1_000;
    await delay(100);
  }
}
