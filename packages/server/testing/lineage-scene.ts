/** An agent that runs a pipeline and reports what it read and wrote, and the lineage that the API shows. */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LineageEvent, Page, RunEvent, Step, StepLineage, WorkOf } from '@headgate/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Account } from './account.ts';
import { createInstance, type Instance } from './agent.ts';
import type { TestServer } from './open-server.ts';
import { smallPipeline, type TestProject, upload } from './project.ts';

const schemas = join(import.meta.dirname, 'openlineage');
const schemaOf = (file: string) => JSON.parse(readFileSync(join(schemas, file), 'utf8')) as { $id: string };

/** Judges events, and each of their facets, by the published schemas. */
function createEventCheck() {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const files = readdirSync(schemas).filter((file) => file.endsWith('.json'));
  const ids = new Set(files.map((file) => schemaOf(file).$id));
  for (const file of files) ajv.addSchema(schemaOf(file));
  const requireValid = (id: string, value: unknown) => {
    const validate = ajv.getSchema(id);
    if (validate === undefined) throw new Error(`There is no schema ${id}.`);
    if (!validate(value)) throw new Error(`${id}: ${ajv.errorsText(validate.errors)}`);
  };
  return (event: RunEvent) => {
    requireValid(event.schemaURL, event);
    const holders = [event.run, event.job, ...event.inputs, ...event.outputs];
    const facets = [
      ...holders.map((holder) => holder.facets ?? {}),
      ...event.outputs.map((output) => output.outputFacets ?? {}),
    ];
    for (const each of facets)
      for (const [name, facet] of Object.entries(each)) {
        const { _schemaURL: id } = facet as { _schemaURL: string };
        if (name === 'headgate_run') continue;
        if (!ids.has(id)) throw new Error(`The facet ${name} names the schema ${id}.`);
        requireValid(id, { [name]: facet });
      }
  };
}

export const requireValidEvent = createEventCheck();

export type ReportedLineage = Omit<StepLineage, 'stepId' | 'pipelineRunId'>;

export async function createLineageScene(
  server: TestServer,
  createProject = ({ project }: Account): Promise<TestProject> => project(),
) {
  const account = await server.account();
  const { admin } = account;
  const agent = await account.agent();
  const instance = createInstance(agent);
  const project = await createProject(account);
  const publish = (environmentName: string, versionName: string, names = ['main.orch.yaml']) =>
    upload(
      admin,
      project,
      names.map((name) => ({ name, content: smallPipeline })),
      { environmentName, versionName },
    );
  await publish('dev', 'v1');

  async function start(pipelineName = 'main', environmentName = 'dev') {
    const path = `${project.path}/pipeline-executions`;
    const body = { pipelineName, environmentName, agentId: agent.agentId };
    const { pipelineExecutionId } = (await admin.post<{ pipelineExecutionId: string }>(path, body)).body;
    await instance.hello();
    const work = (await instance.claim()).work.find(({ workId }) => workId === pipelineExecutionId);
    if (work === undefined) throw new Error('no execution to claim');
    return work;
  }

  const createStep = (pipelineRunId: string, changes: Partial<Step> = {}): Step => {
    const at = server.clock.now().toISOString();
    return {
      ...{ stepId: randomUUID(), pipelineRunId, name: 'Load', componentType: 'sql-script' },
      ...{ status: 'SUCCESS', startedAt: at, finishedAt: at },
      ...changes,
    };
  };

  /** Reports a step that succeeded, with its lineage. */
  function succeed(
    work: WorkOf<'pipeline-execution'>,
    lineage: ReportedLineage,
    { sequence, ...changes }: Partial<Step> & { sequence?: number } = {},
    by: Instance = instance,
  ) {
    const step = createStep(work.workId, changes);
    const { stepId, pipelineRunId } = step;
    const said = {
      type: 'progress' as const,
      steps: [step],
      lineage: [{ stepId, pipelineRunId, ...lineage }],
    };
    return by.report(work, said, sequence);
  }

  /** Runs a pipeline of one step. */
  async function run(lineage: ReportedLineage, pipelineName = 'main', environmentName = 'dev') {
    const work = await start(pipelineName, environmentName);
    await instance.report(work, { type: 'started' });
    await succeed(work, lineage);
    await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
    return work.workId;
  }

  /** All events of the account, each valid. */
  async function readEvents(query = '&size=100'): Promise<LineageEvent[]> {
    const { body } = await admin.get<Page<LineageEvent>>(
      `/lineage/events?generatedFrom=2000-01-01T00:00:00.000Z&generatedBefore=2100-01-01T00:00:00.000Z${query}`,
    );
    for (const { event } of body.results) requireValidEvent(event);
    return body.results;
  }

  /** The server notices that the agent is silent, and later that it stays so. */
  async function sweepAll(): Promise<void> {
    await server.sweep();
    server.clock.advance(60);
    await server.sweep();
  }

  return {
    ...{ account, admin, agent, instance, project, publish },
    ...{ start, createStep, succeed, run, readEvents, sweepAll },
  };
}

export const table = (name: string, ...columns: string[]) => ({
  kind: 'warehouse' as const,
  name,
  fields: columns.map((column) => ({ name: column, type: 'VARCHAR' })),
});

/** One table made from another: `columns` are taken as they are. */
export const copyOf = (from: string, to: string, ...columns: string[]): ReportedLineage => ({
  inputs: [table(from, ...columns)],
  outputs: [
    {
      ...table(to, ...columns),
      createdOrReplaced: true,
      rowCount: 3,
      columns: columns.map((name) => ({
        name,
        inputs: [{ dataset: 0, field: name, transformation: 'IDENTITY' }],
      })),
    },
  ],
});
