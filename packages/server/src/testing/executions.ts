/** Pipeline executions of a test, made through the interface. */
import { randomUUID } from 'node:crypto';
import { claimLimit } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import { type ExecutionClaim, instanceOf } from './agent.ts';
import type { TestProject } from './project.ts';

interface Place {
  account: Account;
  agent: RegisteredAgent;
  project: TestProject;
  now: Date;
}

/** Starts `main` in dev; the path of the execution. */
export async function executionOf({ account, agent, project }: Place): Promise<string> {
  const body = { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId };
  const path = `${project.path}/pipeline-executions`;
  const { pipelineExecutionId } = (await account.admin.post<{ pipelineExecutionId: string }>(path, body))
    .body;
  return `${path}/${pipelineExecutionId}`;
}

/** An execution that has run to its end. */
export async function endedExecutionOf(place: Place): Promise<string> {
  const path = await executionOf(place);
  const id = path.split('/').at(-1) ?? '';
  const instance = instanceOf(place.agent);
  await instance.hello();
  const work = (await instance.claim(claimLimit)).work.find(
    ({ payload }) => payload.pipelineExecutionId === id,
  );
  if (work === undefined) throw new Error('the execution cannot be claimed');
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
  await instance.report(work, { type: 'progress', steps });
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  return path;
}

/** The instance of the agent that claims. */
export const instanceId = randomUUID();

export async function claimOne(place: Place) {
  await executionOf(place);
  const body = { instanceId, max: 1, waitSeconds: 0 };
  const [work] = (await place.agent.client.post<ExecutionClaim>('/claims', body)).body.work;
  if (work === undefined) throw new Error('there is no work to claim');
  return { work };
}
