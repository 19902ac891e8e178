/** The time of a step: long runs by the agent, with its engine on DuckDB, from the start of the run to its end. */
import { setTimeout as delay } from 'node:timers/promises';
import { environmentName } from './agent-scene.ts';
import { type Finding, median, spread, verdictAtLeast, verdictAtMost } from './finding.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const count = 1_000;
const runWithinMilliseconds = 120_000;

interface Component {
  type: string;
  parameters: object;
  transitions?: { unconditional: string[] };
}

const pipelines = {
  'no-op': createChain(),
  sql: createIterator({ type: 'sql-script', parameters: { sqlScript: `select \${n}` } }),
  concurrent: createIterator(
    { type: 'sql-script', parameters: { sqlScript: `select \${n}` } },
    { concurrency: 'Concurrent' },
  ),
} satisfies Record<string, string>;

export const runSteps: Work = async ({ rounds, profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const agent = { HEADGATE_LOCAL_AGENT: 'on' };
  const server = ending.adopt(await startServer(profileFolder, agent), (started) => started.stop());
  const projectId = await publish(server);
  const measure = async (work: string, pipelineName: keyof typeof pipelines, most: number) => {
    const times: number[] = [];
    // The first run is the warm-up.
    for (let round = 0; round <= rounds; round++) {
      const milliseconds = await runOnce(server, projectId, pipelineName);
      if (round > 0) times.push(milliseconds / count);
    }
    const finding: Finding = {
      work,
      measured: `${spread(times)} ms each`,
      limit: `≤ ${most} ms each`,
      verdict: verdictAtMost(median(times), most),
      rounds: times,
    };
    return finding;
  };
  const sequential = await measure(`a run of ${count} iterations of one SQL step`, 'sql', 2.5);
  const concurrent = await measure(`the same, concurrent`, 'concurrent', 2.5);
  const times = median(sequential.rounds) / median(concurrent.rounds);
  return [
    await measure(`a run of ${count} no-op steps`, 'no-op', 2),
    sequential,
    {
      ...concurrent,
      measured: `${concurrent.measured}, ${times.toFixed(2)} × sequential`,
      limit: '≥ 1.6 × sequential',
      verdict: verdictAtLeast(times, 1.6),
    },
  ];
};

async function publish(server: MeasuredServer): Promise<string> {
  const project = { name: 'bench', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const projectId = String((await server.call('POST', '/projects', project)).projectId);
  await server.call('POST', `/projects/${projectId}/environments`, { name: environmentName });
  const form = new FormData();
  for (const [name, text] of Object.entries(pipelines))
    form.append(`${name}.orch.yaml`, new Blob([text], { type: 'text/plain' }));
  await server.call('POST', `/projects/${projectId}/artifacts`, form, { environmentName, versionName: 'v1' });
  return projectId;
}

/** Milliseconds from the start of the first step to the end of the last one, by the clock of the agent. */
async function runOnce(server: MeasuredServer, projectId: string, pipelineName: string): Promise<number> {
  const executions = `/projects/${projectId}/pipeline-executions`;
  const { pipelineExecutionId } = await server.call('POST', executions, { pipelineName, environmentName });
  const path = `${executions}/${pipelineExecutionId}`;
  const until = performance.now() + runWithinMilliseconds;
  for (;;) {
    await delay(50);
    const { status, message } = await server.call('GET', path);
    if (status === 'SUCCESS') break;
    if (status !== 'RUNNING' || performance.now() > until)
      throw new Error(`${pipelineName}: ${status} ${message}`);
  }
  const { total } = (await server.call('GET', `${path}/steps?size=1`)) as { total: number };
  const read = async (page: number) => {
    const { results } = await server.call('GET', `${path}/steps?size=1&page=${page}`);
    const [step] = results as { result: { startedAt: string; finishedAt: string } }[];
    return step?.result;
  };
  const [first, last] = [await read(0), await read(total - 1)];
  return Date.parse(last?.finishedAt ?? '') - Date.parse(first?.startedAt ?? '');
}

function createChain(): string {
  const names = Array.from({ length: count - 1 }, (_, number) => `Step ${number}`);
  const components = names.map((name, number): [string, Component] => {
    const next = names[number + 1];
    return [
      name,
      {
        type: 'or',
        parameters: {},
        ...(next === undefined ? {} : { transitions: { unconditional: [next] } }),
      },
    ];
  });
  const start = { type: 'start', parameters: {}, transitions: { unconditional: ['Step 0'] } };
  return render({ Start: start, ...Object.fromEntries(components) }, {});
}

function createIterator(target: Component, mode: object = {}): string {
  const n = {
    metadata: { type: 'NUMBER', description: '', scope: 'COPIED', visibility: 'PUBLIC' },
    defaultValue: '0',
  };
  const rows = Array.from({ length: count }, (_, number) => [number]);
  const grid = {
    metadata: {
      type: 'GRID',
      description: '',
      scope: 'COPIED',
      visibility: 'PUBLIC',
      columns: { n: { columnType: 'NUMBER' } },
    },
    defaultValue: rows,
  };
  const parameters = { gridVariable: 'rows', gridIteratorVariableMapping: [['n', 'n']], ...mode };
  const components = {
    Start: { type: 'start', parameters: {}, transitions: { unconditional: ['Each'] } },
    Each: { type: 'grid-iterator', iterationTarget: 'Target', parameters },
    Target: target,
  };
  return render(components, { n, rows: grid });
}

function render(components: object, variables: object): string {
  return JSON.stringify({
    type: 'orchestration',
    version: '1.0',
    pipeline: { components, variables },
    design: {},
  });
}
