/**
 * Real runs: from the request that starts a pipeline to its SUCCESS, with the agent, its processes and its
 * warehouse. A poll of the status costs the server as much as a small part of a run, so that many runs are
 * watched by one statement in the database.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { environmentName } from './agent-scene.ts';
import { type Finding, median, percentile, spread, verdictAtLeast, verdictAtMost } from './finding.ts';
import { listAgentProcesses, measureProcesses } from './process-memory.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';
import { RawConnection } from './raw-connection.ts';
import { requestText } from './request.ts';
import { publishRunPipelines, type RunPipeline } from './run-pipelines.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const inFlight = 20;
const burstOf = 40;
const warmUps = 60;
const pollMilliseconds = 2;
/** Longer than an idle process of runs, or a warehouse without runs, is kept. */
const idleMilliseconds = 75_000;

interface Scene {
  server: MeasuredServer;
  user: RawConnection;
  database: pg.Client;
  token: string;
  projectId: string;
}

export const runs: Work = async ({ rounds, milliseconds, profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const agent = { HEADGATE_LOCAL_AGENT: 'on' };
  const server = ending.adopt(await startServer(profileFolder, agent), (started) => started.stop());
  const user = ending.adopt(await RawConnection.open(server.port), (connection) => connection.close());
  const database = ending.adopt(new pg.Client(server.connection), (client) => client.end());
  await database.connect();
  const projectId = await publishRunPipelines(server);
  const scene = { server, user, database, token: server.token, projectId };
  await delay(2_000);
  const cold = await runBurst(scene);
  const latencies: number[] = [];
  for (let turn = 0; turn < warmUps + rounds * 20; turn++) {
    const taken = await runOne(scene, 'empty');
    if (turn >= warmUps) latencies.push(taken);
  }
  const measureRate = async (pipeline: RunPipeline, least: number): Promise<Finding> => {
    await runMany(scene, pipeline, 2_000);
    const rates: number[] = [];
    const stop = watchProcessors(scene);
    for (let round = 0; round < rounds; round++) rates.push(await runMany(scene, pipeline, milliseconds));
    console.log(`  ${pipeline}: ${await stop()}`);
    return {
      work: `runs a second, ${inFlight} at a time: ${pipeline}`,
      measured: `${spread(rates, 0)} a second`,
      limit: `≥ ${least} a second`,
      verdict: verdictAtLeast(median(rates), least),
      rounds: rates,
    };
  };
  const rates = [
    await measureRate('empty', 200),
    await measureRate('insert and transformation', 110),
    await measureRate('insert, transformation and expressions', 100),
  ];
  const busy = measureProcesses(server.pid);
  const bursts: number[] = [];
  for (let round = 0; round < rounds; round++) bursts.push(await runBurst(scene));
  await delay(idleMilliseconds);
  const idle = measureProcesses(server.pid);
  console.log(`  idle: ${idle.description}`);
  const p50 = percentile(latencies, 0.5);
  console.log(`  ${busy.description}`);
  return [
    {
      work: 'an empty pipeline, from POST to SUCCESS',
      measured: `p50 ${p50.toFixed(0)} ms, p99 ${percentile(latencies, 0.99).toFixed(0)} ms`,
      limit: 'p50 ≤ 45 ms',
      verdict: verdictAtMost(p50, 45),
      rounds: latencies,
    },
    ...rates,
    {
      work: `a burst of ${burstOf} runs, cold`,
      measured: `${cold.toFixed(0)} ms`,
      limit: '≤ 1500 ms',
      verdict: verdictAtMost(cold, 1_500),
      rounds: [cold],
    },
    {
      work: `a burst of ${burstOf} runs, warm`,
      measured: `${spread(bursts, 0)} ms`,
      limit: '≤ 300 ms',
      verdict: verdictAtMost(median(bursts), 300),
      rounds: bursts,
    },
    {
      work: `memory of the agent and its processes, ${inFlight} runs at a time`,
      measured: `${busy.mebibytes.toFixed(0)} MiB`,
      limit: '≤ 1024 MiB',
      verdict: verdictAtMost(busy.mebibytes, 1_024),
      rounds: [busy.mebibytes],
    },
    {
      work: `memory of the agent and its processes, ${idleMilliseconds / 1_000} s later`,
      measured: `${idle.mebibytes.toFixed(0)} MiB`,
      limit: '≤ 300 MiB',
      verdict: verdictAtMost(idle.mebibytes, 300),
      rounds: [idle.mebibytes],
    },
  ];
};

async function start({ user, token, projectId }: Scene, pipelineName: RunPipeline): Promise<string> {
  const path = `/dpc/v1/projects/${projectId}/pipeline-executions`;
  const { status, body } = await user.request(
    requestText('POST', path, { token, body: { pipelineName, environmentName } }),
  );
  if (status !== 201) throw new Error(`A start returned ${status}: ${body}`);
  return `${path}/${(JSON.parse(body) as { pipelineExecutionId: string }).pipelineExecutionId}`;
}

/** Milliseconds from the request to its SUCCESS. */
async function runOne(scene: Scene, pipeline: RunPipeline): Promise<number> {
  const startedAt = performance.now();
  const path = await start(scene, pipeline);
  const poll = requestText('GET', `${path}/status`, { token: scene.token });
  for (;;) {
    const { body } = await scene.user.request(poll);
    const { status } = JSON.parse(body) as { status: string };
    if (status === 'SUCCESS') return performance.now() - startedAt;
    if (status !== 'RUNNING') throw new Error(`${pipeline}: ${body}`);
    await delay(pollMilliseconds);
  }
}

/**
 * Processor time of each run from now on. On a machine with other work it says more than runs a second. The
 * command line tells the agent from its processes.
 */
function watchProcessors(scene: Scene): () => Promise<string> {
  const { server } = scene;
  const before = countEnded(scene);
  const read = () => new Map(listAgentProcesses(server.pid).map((pid) => [pid, processorSeconds(pid)]));
  const others = () => [processorSeconds(server.pid), postgresSeconds(server.dataDirectory)];
  const first = { processes: read(), others: others() };
  return async () => {
    const last = { processes: read(), others: others() };
    const runs = (await countEnded(scene)) - (await before);
    const sums = { agent: 0, runs: 0, warehouse: 0 };
    for (const [pid, seconds] of last.processes)
      sums[getPart(pid)] += seconds - (first.processes.get(pid) ?? 0);
    const show = (seconds: number) => `${((seconds * 1_000) / runs).toFixed(2)} ms`;
    const [ofServer = 0, ofPostgres = 0] = last.others.map((now, index) => now - (first.others[index] ?? 0));
    return `a run takes ${show(ofServer)} of the server, ${show(ofPostgres)} of PostgreSQL, ${show(sums.agent)} of the agent, ${show(sums.runs)} of its process, ${show(sums.warehouse)} of DuckDB`;
  };
}

function getPart(pid: number): 'agent' | 'runs' | 'warehouse' {
  const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  if (command.includes('run-code-')) return 'runs';
  return command.includes('duckdb-process') ? 'warehouse' : 'agent';
}

/** Runs that ended each second while a fixed number was under way. */
async function runMany(scene: Scene, pipeline: RunPipeline, milliseconds: number): Promise<number> {
  const before = await countEnded(scene);
  const startedAt = performance.now();
  let started = 0;
  let ended = 0;
  while (performance.now() - startedAt < milliseconds) {
    const open = inFlight - (started - ended);
    await Promise.all(Array.from({ length: open }, () => start(scene, pipeline)));
    started += open;
    await delay(4);
    ended = (await countEnded(scene)) - before;
  }
  await waitForEnd(scene, before + started);
  return started / ((performance.now() - startedAt) / 1_000);
}

/** Milliseconds until all runs of a burst have ended. */
async function runBurst(scene: Scene): Promise<number> {
  const before = await countEnded(scene);
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: burstOf }, () => start(scene, 'empty')));
  await waitForEnd(scene, before + burstOf);
  return performance.now() - startedAt;
}

async function waitForEnd(scene: Scene, count: number): Promise<void> {
  while ((await countEnded(scene)) < count) await delay(pollMilliseconds);
}

/** @throws unless all ended runs are SUCCESS */
async function countEnded({ database }: Scene): Promise<number> {
  const { rows } = await database.query<{ ended: number; failed: string | null }>(`
    select count(*) filter (where finished_at is not null)::integer as ended,
      min(message) filter (where finished_at is not null and status <> 'SUCCESS') as failed
    from pipeline_execution`);
  const [found] = rows;
  if (found?.failed) throw new Error(found.failed);
  return found?.ended ?? 0;
}
