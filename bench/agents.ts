/**
 * Ten thousand agents at one server: memory for each, time to get work, and time until a dead agent is
 * noticed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { registerFleet, requireOpenFiles } from './agent-fleet.ts';
import { environmentName, pipelineName, prepareAgentScene, requireCycles } from './agent-scene.ts';
import { type Child, startChild } from './child.ts';
import { percentile, verdictAtMost } from './finding.ts';
import type { FleetOrder, FleetReply, FleetRun } from './fleet-process.ts';
import { startLoadGenerator } from './load.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';
import { requestText } from './request.ts';
import { residentMebibytes } from './resident-memory.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work, WorkSettings } from './work.ts';

const count = 10_000;
const aSecond = 300;
/** Requests before the first measurement of memory, so that the server has loaded and compiled its code. */
const warmUps = 5_000;
/** Longer than one long poll of each agent. */
const settleMilliseconds = 10_000;
const mostKibibytes = 30;
const mostMilliseconds = 150;
const mostSeconds = 15;
/** Both deaths happen and are noticed in this time. */
const leastMilliseconds = 16_000;

export const agents: Work = async (settings) => {
  requireOpenFiles(count + 1_000);
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const fleet = await registerFleet(server, count);
  const scene = await prepareAgentScene(server);
  await warmUp(server, scene.projectId);
  const before = residentMebibytes(server.pid);
  const module = new URL('./fleet-process.ts', import.meta.url);
  const child = ending.adopt(await startChild(module), (started) => started.stop());
  const started = performance.now();
  await ask(child, { order: 'connect', port: server.port, agents: fleet });
  console.log(`  ${count} agents connected in ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  const idle = watch(server);
  await delay(settleMilliseconds);
  console.log(`  while all agents wait: ${idle()}`);
  const each = ((residentMebibytes(server.pid) - before) * 1_024) / count;
  const { executions, starts, latencies, noticed, cores } = await handOut(
    server,
    child,
    scene.projectId,
    settings,
  );
  await requireCycles(server, executions);
  console.log(
    `  memory: ${before.toFixed(0)} MiB before, ${residentMebibytes(server.pid).toFixed(0)} MiB at the end; ` +
      `the generator used ${cores.toFixed(2)} cores`,
  );
  const show = (part: number, of = latencies) => percentile(of, part).toFixed(1);
  console.log(`  response to the start: p50 ${show(0.5, starts)} ms, p99 ${show(0.99, starts)} ms`);
  const slowest = Math.max(noticed.closed, noticed.silent);
  return [
    {
      work: `memory of the server for each of ${count} waiting agents`,
      measured: `${each.toFixed(1)} KiB`,
      limit: `≤ ${mostKibibytes} KiB`,
      verdict: verdictAtMost(each, mostKibibytes),
      rounds: [each],
    },
    {
      work: `start to the claim answered, at ${aSecond} a second`,
      measured: `p50 ${show(0.5)} ms, p99 ${show(0.99)} ms, at most ${show(1)} ms`,
      limit: `p99 ≤ ${mostMilliseconds} ms`,
      verdict: verdictAtMost(percentile(latencies, 0.99), mostMilliseconds),
      rounds: latencies,
    },
    {
      work: 'a dead agent is shown as not connected and unknown',
      measured: `after ${noticed.closed.toFixed(1)} s, with an open connection ${noticed.silent.toFixed(1)} s`,
      limit: `≤ ${mostSeconds} s`,
      verdict: verdictAtMost(slowest, mostSeconds),
      rounds: [noticed.closed, noticed.silent],
    },
  ];
};

async function warmUp(server: MeasuredServer, projectId: string): Promise<void> {
  const load = await startLoadGenerator();
  const page = requestText('GET', `/dpc/v1/projects/${projectId}/variables`, { token: server.token });
  await load.run({ port: server.port, connections: 8, requests: [page], answers: warmUps });
  await load.stop();
}

async function handOut(
  server: MeasuredServer,
  child: Child,
  projectId: string,
  { rounds, milliseconds }: WorkSettings,
): Promise<FleetRun> {
  const busy = watch(server);
  const { run } = await ask<{ run: FleetRun }>(child, {
    order: 'run',
    path: `/dpc/v1/projects/${projectId}/pipeline-executions`,
    token: server.token,
    body: { pipelineName, environmentName },
    aSecond,
    milliseconds: Math.max(leastMilliseconds, rounds * milliseconds),
  });
  console.log(`  while ${aSecond} executions a second are handed out: ${busy()}`);
  return run;
}

/** Measures processor time from now on. The returned function describes it. */
function watch(server: MeasuredServer): () => string {
  const taken = () => [processorSeconds(server.pid), postgresSeconds(server.dataDirectory)] as const;
  const before = taken();
  const began = performance.now();
  return () => {
    const seconds = (performance.now() - began) / 1_000;
    const [ofServer, ofPostgres] = taken().map((now, index) => (now - (before[index] ?? 0)) / seconds);
    return `${ofServer?.toFixed(2)} cores of the server, ${ofPostgres?.toFixed(2)} of PostgreSQL`;
  };
}

async function ask<Reply>(child: Child, order: FleetOrder): Promise<Reply> {
  const reply = (await child.ask(order)) as FleetReply;
  if ('failure' in reply) throw new Error(reply.failure);
  return reply as Reply;
}
