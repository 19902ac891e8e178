/**
 * Real runs: from the request that starts a pipeline to its SUCCESS, with the agent, its processes and its
 * warehouse. A poll of the status costs the server as much as a small part of a run, so that many runs are
 * watched by one statement in the database.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Finding, median, percentile, spread, verdictAtLeast, verdictAtMost } from './finding.ts';
import { listAgentProcesses, measureProcesses } from './process-memory.ts';
import { endedChildrenSeconds, postgresSeconds, processorSeconds } from './processor-time.ts';
import type { RunPipeline } from './run-pipelines.ts';
import {
  burstOf,
  countEnded,
  inFlight,
  openRunScene,
  type RunScene,
  runBurst,
  runMany,
  runOne,
} from './run-scene.ts';
import type { Work } from './work.ts';

const warmUps = 60;
/** So that the processes of runs are warm. */
const warmUpRuns = 600;
/** Longer than an idle process of runs, or a warehouse without runs, is kept. */
const soonMilliseconds = 75_000;
/** Longer than V8 waits until it cleans up after a program that has nothing to do (ADR 0057). */
const idleMilliseconds = 180_000;

export const runs: Work = async ({ rounds, milliseconds, profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const scene = await openRunScene(profileFolder, ending);
  const { server } = scene;
  await delay(2_000);
  const cold = await runBurst(scene);
  const latencies: number[] = [];
  for (let turn = 0; turn < warmUps + rounds * 20; turn++) {
    const taken = await runOne(scene, 'empty');
    if (turn >= warmUps) latencies.push(taken);
  }
  const measureRate = async (pipeline: RunPipeline, least: number): Promise<Finding> => {
    await runMany(scene, pipeline, (started) => started >= warmUpRuns);
    const rates: number[] = [];
    const stop = watchProcessors(scene);
    for (let round = 0; round < rounds; round++) {
      const until = performance.now() + milliseconds;
      rates.push(await runMany(scene, pipeline, () => performance.now() > until));
    }
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
  await delay(soonMilliseconds);
  const soon = measureProcesses(server.pid);
  console.log(`  after ${soonMilliseconds / 1_000} s: ${soon.description}`);
  await delay(idleMilliseconds - soonMilliseconds);
  const idle = measureProcesses(server.pid);
  console.log(`  after ${idleMilliseconds / 1_000} s: ${idle.description}`);
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

/**
 * Processor time of each run from now on. On a machine with other work it says more than runs a second. The
 * command line tells the agent from its processes.
 */
function watchProcessors(scene: RunScene): () => Promise<string> {
  const { server } = scene;
  const before = countEnded(scene);
  const read = () => new Map(listAgentProcesses(server.pid).map((pid) => [pid, processorSeconds(pid)]));
  const others = () => [
    processorSeconds(server.pid),
    postgresSeconds(server.dataDirectory, scene.databasePid),
    // Processes of runs that were replaced.
    listAgentProcesses(server.pid).reduce((sum, pid) => sum + endedChildrenSeconds(pid), 0),
  ];
  const first = { processes: read(), others: others() };
  return async () => {
    const last = { processes: read(), others: others() };
    const runs = (await countEnded(scene)) - (await before);
    const sums = { agent: 0, runs: 0, warehouse: 0 };
    for (const [pid, seconds] of last.processes)
      sums[getPart(pid)] += seconds - (first.processes.get(pid) ?? 0);
    const show = (seconds: number) => `${((seconds * 1_000) / runs).toFixed(2)} ms`;
    const [ofServer = 0, ofPostgres = 0, ofEnded = 0] = last.others.map(
      (now, index) => now - (first.others[index] ?? 0),
    );
    return `a run takes ${show(ofServer)} of the server, ${show(ofPostgres)} of PostgreSQL, ${show(sums.agent)} of the agent, ${show(sums.runs + ofEnded)} of its process, ${show(sums.warehouse)} of DuckDB`;
  };
}

function getPart(pid: number): 'agent' | 'runs' | 'warehouse' {
  const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  if (command.includes('run-code-')) return 'runs';
  return command.includes('duckdb-process') ? 'warehouse' : 'agent';
}
