/** Pipeline executions for tests, created through the API. */
import { randomUUID } from 'node:crypto';
import { claimLimit, type StepLineage } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import { createInstance, type ExecutionClaim } from './agent.ts';
import type { TestProject } from './project.ts';

/** What a step of the execution that has finished read and wrote. */
const lineage = {
  inputs: [
    {
      kind: 'warehouse',
      name: 'sales.orders',
      fields: [
        { name: 'city', type: 'VARCHAR' },
        { name: 'amount', type: 'DECIMAL(18,2)' },
        { name: 'state', type: 'VARCHAR' },
      ],
    },
  ],
  outputs: [
    {
      kind: 'warehouse',
      name: 'sales.by_city',
      fields: [
        { name: 'city', type: 'VARCHAR' },
        { name: 'total', type: 'DECIMAL(38,2)' },
      ],
      columns: [
        { name: 'city', inputs: [{ dataset: 0, field: 'city', transformation: 'IDENTITY' }] },
        { name: 'total', inputs: [{ dataset: 0, field: 'amount', transformation: 'AGGREGATED' }] },
      ],
      decidedBy: [{ dataset: 0, field: 'state' }],
      rowCount: 12,
      createdOrReplaced: true,
    },
  ],
} satisfies Pick<StepLineage, 'inputs' | 'outputs'>;

interface Place {
  account: Account;
  agent: RegisteredAgent;
  project: TestProject;
  now: Date;
}

/** Starts `main` in dev and returns the path of the execution. */
export async function createExecution(
  { account, agent, project }: Place,
  environmentName = 'dev',
): Promise<string> {
  const body = { pipelineName: 'main', environmentName, agentId: agent.agentId };
  const path = `${project.path}/pipeline-executions`;
  const { pipelineExecutionId } = (await account.admin.post<{ pipelineExecutionId: string }>(path, body))
    .body;
  return `${path}/${pipelineExecutionId}`;
}

/** Creates an execution that has finished. */
export async function createEndedExecution(place: Place): Promise<string> {
  const path = await createExecution(place);
  const id = path.split('/').at(-1) ?? '';
  const instance = createInstance(place.agent);
  await instance.hello();
  const work = (await instance.claim(claimLimit)).work.find(
    ({ payload }) => payload.pipelineExecutionId === id,
  );
  if (work === undefined) throw new Error('no execution to claim');
  const at = place.now.toISOString();
  const steps = ['Start', 'End'].map((name) => ({
    stepId: randomUUID(),
    pipelineRunId: id,
    name,
    componentType: name === 'Start' ? 'start' : 'end-success',
    status: 'SUCCESS' as const,
    startedAt: at,
    finishedAt: at,
  }));
  await instance.report(work, { type: 'started' });
  const [first] = steps;
  await instance.report(work, {
    type: 'progress',
    steps,
    lines: [
      {
        sequence: 1,
        timestamp: at,
        stepId: first?.stepId ?? '',
        stream: 'component',
        text: 'city: Bodø',
      },
    ],
    lineage: [{ stepId: first?.stepId ?? '', pipelineRunId: id, ...lineage }],
    variables: [
      {
        pipelineRunId: id,
        variables: [{ name: 'city', type: 'TEXT', source: 'request', value: 'Bodø' }],
      },
    ],
  });
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  return path;
}

/** Creates an execution that failed in a step that may have had an effect. */
export async function createFailedExecution(place: Place): Promise<string> {
  const path = await createExecution(place);
  const id = path.split('/').at(-1) ?? '';
  const instance = createInstance(place.agent);
  await instance.hello();
  const { work } = await instance.claim(claimLimit);
  const claimed = work.find(({ payload }) => payload.pipelineExecutionId === id);
  if (claimed === undefined) throw new Error('no execution to claim');
  const at = place.now.toISOString();
  const step = { pipelineRunId: id, startedAt: at, finishedAt: at };
  await instance.report(claimed, { type: 'started' });
  await instance.report(claimed, {
    type: 'progress',
    steps: [
      {
        ...step,
        stepId: randomUUID(),
        name: 'Start',
        componentType: 'start',
        status: 'SUCCESS',
        restart: { began: 0, ended: 1, next: ['Load orders'] },
      },
      {
        ...step,
        stepId: randomUUID(),
        name: 'Load orders',
        componentType: 'sql-script',
        status: 'FAILED',
        restart: { began: 1, ended: 2, next: [], effect: true },
      },
    ],
  });
  const message = 'main.orch.yaml: "Load orders" failed: there is no table "orders"';
  await instance.report(claimed, { type: 'completed', outcome: { status: 'FAILED', message } });
  return path;
}

/** The instance of the agent that claims. */
export const instanceId = randomUUID();

export async function claimOne(place: Place) {
  await createExecution(place);
  const body = { instanceId, max: 1, waitSeconds: 0 };
  const [work] = (await place.agent.client.post<ExecutionClaim>('/claims', body)).body.work;
  if (work === undefined) throw new Error('no work to claim');
  return { work };
}
