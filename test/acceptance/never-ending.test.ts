/** Runs that would never end, or cannot start: a limit ends them, with a message that says what to do. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { processorTicks } from './harness/processes.ts';
import { endlessSql, Project, pipelineFile, sqlScript, steps } from './harness/project.ts';

/** For runs that only the time limit of the run ends. */
const runTimeLimitSeconds = 4;
/** For runs that another limit ends, or that fail: on a busy machine a run takes seconds to start. */
const distantLimitSeconds = 360;
const quietMilliseconds = 1_000;

const text = {
  metadata: { type: 'TEXT', description: '', scope: 'COPIED', visibility: 'PUBLIC' },
  defaultValue: '',
};

function expression(source: string): string {
  return pipelineFile(
    'orchestration',
    {
      Start: { type: 'start', transitions: { unconditional: ['Compute'] } },
      Compute: { type: 'update-scalar', parameters: { scalarsToUpdate: [['x', source]] } },
    },
    { x: text },
  );
}

/** Each level repeats the previous one nine times: 9^9 values in a file of a few hundred bytes. */
function yamlBomb(): string {
  const levels = [...'abcdefghi'].map((name, index, all) =>
    index === 0
      ? `${name}: &${name} [x, x, x, x, x, x, x, x, x]`
      : `${name}: &${name} [${Array(9)
          .fill(`*${all[index - 1]}`)
          .join(', ')}]`,
  );
  return `type: orchestration\nversion: "1.0"\npipeline: {components: {}}\n${levels.join('\n')}\n`;
}

const files = {
  'expression.orch.yaml': expression('${(() => { for (;;) {} })()}'),
  'memory.orch.yaml': expression('${"x".repeat(5e8).length}'),
  'regexp.orch.yaml': expression('${/^(a+)+$/.test("a".repeat(40) + "b")}'),
  'builtin.orch.yaml': expression("${(() => { const s = 'x'.repeat(1e7); for (;;) s.indexOf('y') })()}"),
  'endless.orch.yaml': sqlScript(endlessSql),
  'itself.orch.yaml': steps(['Again', 'run-orchestration', { orchestrationJob: 'itself' }]),
  'no asset.orch.yaml': steps([
    'Load',
    'file-load',
    { source: 'data/missing.csv', fileType: 'CSV', targetTable: 't' },
  ]),
  'no pipeline.orch.yaml': steps([
    'Call',
    'run-transformation',
    { transformationJob: 'Lost/transformation' },
  ]),
  'huge table.orch.yaml': sqlScript('create table huge as select range, random() r from range(100000000000)'),
  'bomb.orch.yaml': yamlBomb(),
};

interface Bounded {
  headgate: Installation;
  client: ApiClient;
  project: Project;
  ignored: { name: string; reason: string }[];
}

async function bounded(limits: Record<string, string>): Promise<Bounded> {
  const headgate = await Installation.create({
    environment: {
      HEADGATE_AGENT_RUN_TIME_LIMIT_SECONDS: String(distantLimitSeconds),
      ...limits,
      HEADGATE_AGENT_WAREHOUSE_TEMP_MB: '64',
      HEADGATE_AGENT_WAREHOUSE_MEMORY_MB: '256',
    },
  });
  await headgate.start('node');
  const client = headgate.client();
  const project = await Project.create(client);
  const { ignoredResources: ignored } = await project.publish(files);
  return { headgate, client, project, ignored };
}

/** The messages of the execution and of its steps. */
async function failureOf(project: Project, pipelineName: string, withinSeconds: number): Promise<string> {
  const run = await project.run(pipelineName, 'dev', withinSeconds);
  assert.equal(run.status, 'FAILED');
  const steps = await project.steps(run.pipelineExecutionId);
  for (const step of steps) assert.notEqual(step.result.status, 'RUNNING');
  return [run.message, ...steps.map((step) => step.result.message)].join('\n');
}

async function requireUnharmed({ headgate, project }: Bounded): Promise<void> {
  await project.publish({ 'short.orch.yaml': sqlScript('select 1') }, 'dev', '2');
  // On a busy machine a short limit may end this run too, before it begins.
  await waitUntil('a run that succeeds', 300, async () => (await project.run('short')).status === 'SUCCESS');
  // The agent keeps processes for later runs. One that still computes would use a tenth of this time at least.
  await waitUntil('the end of all computing', 120, async () => {
    const ticks = () => headgate.processes('run', 'warehouse').map(({ pid }) => processorTicks(pid));
    const before = ticks();
    await delay(quietMilliseconds);
    return isDeepStrictEqual(ticks(), before);
  });
}

describe('a run that another limit ends, or that fails', () => {
  let bound: Bounded;
  before(async () => {
    bound = await bounded({});
  });
  after(() => bound.headgate.remove());

  /** Waits less than the time limit of the run. */
  const failure = (pipelineName: string) => failureOf(bound.project, pipelineName, distantLimitSeconds / 2);

  it('an expression is ended by its own limit', async () => {
    assert.match(await failure('expression'), /expression.*(1000 ms|1 s|longer)/i);
  });

  it('an expression that uses too much memory', async () => {
    assert.match(await failure('memory'), /expression.*memory/i);
  });

  it('a regular expression that backtracks', async () => {
    assert.match(await failure('regexp'), /expression/i);
  });

  it('a pipeline that calls itself is named', async () => {
    assert.match(await failure('itself'), /itself/);
  });

  it('a missing file is named, with its path', async () => {
    assert.match(await failure('no asset'), /data\/missing\.csv/);
  });

  it('a missing pipeline is named', async () => {
    assert.match(await failure('no pipeline'), /Lost\/transformation/);
    const refused = await bound.client.call('POST', `${bound.project.path}/pipeline-executions`, {
      body: { pipelineName: 'Lost', environmentName: 'dev' },
    });
    assert.deepEqual([refused.status, refused.body.code], [404, 'pipeline-not-found']);
    assert.match(refused.body.detail, /"?Lost/);
  });

  it('a YAML bomb is ignored at upload, with the reason', () => {
    assert.deepEqual(
      bound.ignored.map(({ name }) => name),
      ['bomb.orch.yaml'],
    );
    assert.match(bound.ignored[0]?.reason ?? '', /line \d+.*alias|alias.*line \d+/is);
  });

  it('agent and server still work: the next run is a SUCCESS', () => requireUnharmed(bound));
});

describe('a run that the smaller of its two time limits ends, the one of the server', () => {
  let bound: Bounded;
  before(async () => {
    bound = await bounded({ HEADGATE_RUN_LIMIT_SECONDS: String(runTimeLimitSeconds) });
  });
  after(() => bound.headgate.remove());

  const failure = (pipelineName: string) => failureOf(bound.project, pipelineName, 120);

  it('an expression that is slow inside a built-in function', async () => {
    assert.match(await failure('builtin'), /expression|time limit of 4 s/i);
  });

  it('a script and its step end at the time limit', async () => {
    assert.match(await failure('endless'), /time limit of 4 s/);
  });

  it('a table that fills the disk', async () => {
    assert.match(await failure('huge table'), /time limit|disk|memory|size|space/i);
  });

  it('agent and server still work: the next run is a SUCCESS', () => requireUnharmed(bound));
});
