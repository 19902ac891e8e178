/** A project whose pipelines can be started, for the tests of executions. */
import assert from 'node:assert/strict';
import type { ExecutionStatus, PipelineExecution } from '@headgate/contract';
import type { Account } from './account.ts';
import { createInstance } from './agent.ts';
import type { TestServer } from './open-server.ts';
import { smallPipeline, upload } from './project.ts';

type Started = { pipelineExecutionId: string };

/** A project with the pipeline `main` in dev, and one agent. */
export async function createStartable(server: TestServer, account?: Account) {
  const owner = account ?? (await server.account());
  const agent = account === undefined ? await owner.agent() : undefined;
  const made = await owner.project();
  await upload(owner.admin, made, [
    { name: 'main.orch.yaml', content: smallPipeline },
    { name: 'folder/Load it.orch.yaml', content: smallPipeline },
  ]);
  const executions = `${made.path}/pipeline-executions`;
  const { admin } = owner;
  const start = (input: object = {}) =>
    admin.post<Started>(executions, { pipelineName: 'main', environmentName: 'dev', ...input });
  const started = async (input: object = {}) => (await start(input)).body.pipelineExecutionId;
  const read = async (id: string) => (await admin.get<PipelineExecution>(`${executions}/${id}`)).body;
  const status = async (id: string) =>
    (await admin.get<{ status: ExecutionStatus }>(`${executions}/${id}/status`)).body.status;
  const cancel = (id: string, forceUpdate = false) =>
    admin.patch<Started>(`${executions}/${id}`, { status: 'CANCELLED', forceUpdate });
  const instance = agent === undefined ? undefined : createInstance(agent);
  return { account: owner, admin, agent, instance, made, executions, start, started, read, status, cancel };
}

export async function createStartableWithAgent(server: TestServer) {
  const found = await createStartable(server);
  const { agent, instance = assert.fail() } = found;
  assert.ok(agent);
  /** Starts a run, which fails; returns its id. */
  async function fail(message = 'no such table'): Promise<string> {
    const id = await found.started();
    const [work] = (await instance.claim()).work;
    assert.ok(work);
    await instance.report(work, { type: 'started' });
    await instance.report(work, { type: 'completed', outcome: { status: 'FAILED', message } });
    return id;
  }
  return { ...found, agent, instance, fail };
}
