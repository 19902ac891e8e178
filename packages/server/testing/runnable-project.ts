/** A project whose pipeline an agent can run, for the tests of the agent protocol. */
import assert from 'node:assert/strict';
import type { ExecutionStatus } from '@headgate/contract';
import type { Account } from './account.ts';
import { createInstance, type Instance } from './agent.ts';
import type { TestServer } from './open-server.ts';
import { smallPipeline, upload } from './project.ts';

type Started = { pipelineExecutionId: string };

/** A project with the pipeline `main` in dev, an agent, and what one does with executions. */
export async function createRunnable(server: TestServer, account?: Account) {
  const owner = account ?? (await server.account());
  const agent = await owner.agent();
  const made = await owner.project();
  await upload(owner.admin, made, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  const executions = `${made.path}/pipeline-executions`;
  const start = async (input: object = {}) => {
    const body = { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId, ...input };
    return (await owner.admin.post<Started>(executions, body)).body.pipelineExecutionId;
  };
  const read = async (id: string) =>
    (await owner.admin.get<{ status: ExecutionStatus; message?: string }>(`${executions}/${id}`)).body;
  const status = async (id: string) => (await read(id)).status;
  const cancel = (id: string, forceUpdate = false) =>
    owner.admin.patch(`${executions}/${id}`, { status: 'CANCELLED', forceUpdate });
  return {
    account: owner,
    admin: owner.admin,
    made,
    agent,
    instance: createInstance(agent),
    start,
    read,
    status,
    cancel,
  };
}

/** The same, with an execution that the agent has claimed. */
export async function createClaimed(server: TestServer) {
  const found = await createRunnable(server);
  const id = await found.start();
  return { ...found, id, work: await claimSingle(found.instance) };
}

export async function claimSingle(instance: Instance) {
  const { work } = await instance.claim();
  const [first] = work;
  assert.ok(first !== undefined && work.length === 1, `${work.length} works`);
  return first;
}

export const completed = { type: 'completed', outcome: { status: 'SUCCESS' } } as const;

/** Moves the clock, and lets the server sweep its work every five seconds. */
export async function passTime(
  server: TestServer,
  seconds: number,
  each: () => Promise<unknown> = async () => undefined,
) {
  for (let passed = 0; passed < seconds; passed += 5) {
    server.clock.advance(Math.min(5, seconds - passed));
    await each();
    await server.sweep();
  }
}
