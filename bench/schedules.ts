/**
 * 10,000 schedules that are due in one minute, all at its start or spread over it: each fires once, how late,
 * and how long other requests take meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { environmentName, pipelineName, prepareAgentScene } from './agent-scene.ts';
import { type Finding, percentile, verdictAtMost } from './finding.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';
import { RawConnection } from './raw-connection.ts';
import { requestText } from './request.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const schedules = 10_000;
const latestSeconds = 5;
/** During ticks, in idle times. */
const mostTimesIdle = 2;
const idleMilliseconds = 10_000;
/** Between two requests of the probe. */
const pauseMilliseconds = 4;
const giveUpMilliseconds = 120_000;

export const schedulesDue: Work = async ({ profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(profileFolder), (started) => started.stop());
  const { projectId } = await prepareAgentScene(server);
  const client = ending.adopt(new pg.Client(server.connection), (each) => each.end());
  await client.connect();
  await fill(server, client, projectId);
  const probe = ending.adopt(await openProbe(server, projectId), (each) => each.close());
  await probe.measure(() => delay(3_000));
  const findings: Finding[] = [];
  for (const [name, spreadSeconds] of [
    ['all at once', 0],
    ['spread over a minute', 60],
  ] as const) {
    const idle = await probe.measure(() => delay(idleMilliseconds));
    const at = new Date(Math.ceil((Date.now() + 2_000) / 1_000) * 1_000);
    await makeDue(client, at, spreadSeconds);
    await delay(at.getTime() - Date.now());
    const before = readProcessorTimes(server);
    const busy = await probe.measure(() => untilFired(client));
    const after = readProcessorTimes(server);
    const spent = { server: after.server - before.server, postgres: after.postgres - before.postgres };
    const late = await readLateness(client, at, schedules);
    findings.push(...describe(name, { idle, busy, late, spent }));
  }
  return findings;
};

interface Measured {
  idle: number[];
  busy: number[];
  /** In seconds. */
  late: number[];
  /** Seconds of processor time, with the requests of the probe. */
  spent: { server: number; postgres: number };
}

function readProcessorTimes({ pid, dataDirectory }: MeasuredServer): Measured['spent'] {
  return { server: processorSeconds(pid), postgres: postgresSeconds(dataDirectory) };
}

function describe(name: string, { idle, busy, late, spent }: Measured): Finding[] {
  const last = Math.max(...late);
  const [quiet, loaded] = [percentile(idle, 0.99), percentile(busy, 0.99)];
  return [
    {
      work: `${schedules.toLocaleString('en')} schedules due in one minute, ${name}: the latest start`,
      measured: `${last.toFixed(2)} s (p50 ${percentile(late, 0.5).toFixed(2)} s), each once`,
      limit: `≤ ${latestSeconds} s`,
      verdict: verdictAtMost(last, latestSeconds),
      rounds: [last],
    },
    {
      work: `${name}: p99 of other requests meanwhile`,
      measured: `${loaded.toFixed(1)} ms; idle ${quiet.toFixed(1)} ms (${busy.length} and ${idle.length} requests)`,
      limit: `≤ ${mostTimesIdle} × idle`,
      verdict: verdictAtMost(loaded / quiet, mostTimesIdle),
      rounds: [quiet, loaded],
    },
    {
      work: `${name}: processor time, with these requests`,
      measured: `server ${spent.server.toFixed(1)} s, PostgreSQL ${spent.postgres.toFixed(1)} s`,
      limit: '–',
      verdict: 'for information',
      rounds: [spent.server, spent.postgres],
    },
  ];
}

/** One schedule by the API; the others as copies of its row. */
async function fill(server: MeasuredServer, client: pg.Client, projectId: string): Promise<void> {
  const { scheduleId } = await server.call('POST', `/projects/${projectId}/schedules`, {
    pipeline: { pipelineName, environmentName },
    schedule: { name: 'schedule 1', cronExpression: '0 0 1 1 *' },
  });
  await client.query(
    `create temporary table copied as select * from schedule where schedule_id = '${scheduleId}'`,
  );
  await client.query(
    `insert into schedule select (jsonb_populate_record(copied, jsonb_build_object(
       'schedule_id', gen_random_uuid(), 'name', 'schedule ' || n))).*
     from copied, generate_series(2, ${schedules}) n`,
  );
  await client.query('analyze schedule');
}

async function makeDue(client: pg.Client, at: Date, spreadSeconds: number): Promise<void> {
  await client.query(
    "update schedule set next_tick_at = $1::timestamptz + random() * $2 * interval '1 second'",
    [at, spreadSeconds],
  );
}

async function untilFired(client: pg.Client): Promise<void> {
  const until = performance.now() + giveUpMilliseconds;
  for (;;) {
    // The next tick is on 1 January.
    const { rows } = await client.query<{ left: boolean }>(
      "select exists (select from schedule where next_tick_at < now() + interval '2 minutes') as left",
    );
    if (rows[0]?.left !== true) return;
    if (performance.now() > until) throw new Error('Not all schedules fired.');
    await delay(100);
  }
}

/** In seconds, of each tick. @throws unless each schedule has one run */
async function readLateness(client: pg.Client, since: Date, count: number): Promise<number[]> {
  const { rows } = await client.query<{ late: number; runs: number }>(
    `select max(extract(epoch from started_at - schedule_tick))::float8 as late, count(*)::integer as runs
     from pipeline_execution where schedule_tick >= $1 group by schedule_id`,
    [since],
  );
  const other = rows.filter(({ runs }) => runs !== 1).length;
  if (rows.length !== count || other > 0)
    throw new Error(`${rows.length} of ${count} schedules ran, ${other} of them not once.`);
  return rows.map(({ late }) => late);
}

interface Probe {
  /** The durations of requests, in milliseconds, while `work` is under way. */
  measure(work: () => Promise<void>): Promise<number[]>;
  close(): void;
}

/** A read and a write in turns, by one client. */
async function openProbe(server: MeasuredServer, projectId: string): Promise<Probe> {
  const connection = await RawConnection.open(server.port);
  const path = `/dpc/v1/projects/${projectId}/variables`;
  const { token } = server;
  const body = { type: 'TEXT', behaviour: 'SHARED', value: randomUUID() };
  const requests = [
    requestText('GET', `${path}?page=0&size=25`, { token }),
    requestText('PATCH', `${path}/greeting`, { token, body }),
  ];
  return {
    async measure(work) {
      let isOver = false;
      const done = work().finally(() => {
        isOver = true;
      });
      const durations: number[] = [];
      while (!isOver) {
        for (const request of requests) {
          const began = performance.now();
          const { status, body: text } = await connection.request(request);
          if (status !== 200) throw new Error(text);
          durations.push(performance.now() - began);
        }
        await delay(pauseMilliseconds);
      }
      await done;
      return durations;
    },
    close: () => connection.close(),
  };
}
