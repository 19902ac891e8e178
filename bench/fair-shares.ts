/**
 * Another project's empty run, behind 1,000 queued runs of one environment: these sleep in scripts, or compute. The
 * agent is the server's own, with its default number of places.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { environmentName } from './agent-scene.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { openRunScene, type RunScene, runOne } from './run-scene.ts';
import type { Work } from './work.ts';

const queued = 1_000;
const startsAtOnce = 20;
const measured = 20;
/** So that the runs of the other project have begun, and its own processes of runs are warm. */
const settleMilliseconds = 5_000;

const start = { type: 'start', parameters: {}, transitions: { unconditional: ['Work'] } };
/** Longer than the measurement. */
const sleeping = { type: 'bash-script', parameters: { bashScript: 'sleep 600' } };
const computing = {
  type: 'sql-script',
  parameters: { sqlScript: 'SELECT sum(sqrt(a.range * b.range)) FROM range(1000000) a, range(1000) b' },
};

export const fairShares: Work = async ({ profileFolder }) => {
  const findings: Finding[] = [];
  for (const [name, component, limit] of [
    ['sleep', sleeping, 50],
    ['compute', computing, 250],
  ] as const) {
    await using ending = new AsyncDisposableStack();
    const scene = await openRunScene(profileFolder, ending);
    for (let turn = 0; turn < measured; turn++) await runOne(scene, 'empty');
    await queueRuns(scene, component);
    await delay(settleMilliseconds);
    const latencies: number[] = [];
    for (let turn = 0; turn < measured; turn++)
      latencies.push(await (name === 'sleep' ? runOne(scene, 'empty') : startOne(scene)));
    findings.push({
      work: `another project's empty run behind ${queued} queued runs that ${name}${name === 'sleep' ? '' : ': its begin'}`,
      measured: `${spread(latencies, 0)} ms`,
      limit: `≤ ${limit} ms`,
      verdict: verdictAtMost(median(latencies), limit),
      rounds: latencies,
    });
  }
  return findings;
};

/** Starts the runs of another project. */
async function queueRuns({ server }: RunScene, component: object): Promise<void> {
  const project = { name: 'busy', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const projectId = String((await server.call('POST', '/projects', project)).projectId);
  const path = `/projects/${projectId}`;
  await server.call('POST', `${path}/environments`, { name: environmentName });
  const pipeline = { components: { Start: start, Work: component } };
  const content = { type: 'orchestration', version: '1.0', pipeline, design: {} };
  const form = new FormData();
  form.append('busy.orch.yaml', new Blob([JSON.stringify(content)], { type: 'text/plain' }));
  await server.call('POST', `${path}/artifacts`, form, { environmentName, versionName: 'v1' });
  const body = { pipelineName: 'busy', environmentName };
  for (let started = 0; started < queued; started += startsAtOnce)
    await Promise.all(
      Array.from({ length: startsAtOnce }, () => server.call('POST', `${path}/pipeline-executions`, body)),
    );
}

/** Milliseconds from the request until the agent has begun. The next one begins after its end. */
async function startOne(scene: RunScene): Promise<number> {
  const { database, projectId, server } = scene;
  const startedAt = performance.now();
  const body = { pipelineName: 'empty', environmentName };
  const started = await server.call('POST', `/projects/${projectId}/pipeline-executions`, body);
  const id = String(started.pipelineExecutionId);
  let begun: number | undefined;
  for (;;) {
    const { rows } = await database.query<{ reported: boolean; ended: boolean }>(
      `select coalesce((select report_sequence > 0 from work where work_id = $1), true) as reported, finished_at is not null as ended
       from pipeline_execution where execution_id = $1`,
      [id],
    );
    if (rows[0]?.reported) begun ??= performance.now() - startedAt;
    if (rows[0]?.ended && begun !== undefined) return begun;
    await delay(2);
  }
}
