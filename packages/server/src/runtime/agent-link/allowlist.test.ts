/** A restricted agent runs only work of the places on its allowlist. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent, AgentAllowlist } from '@headgate/contract';
import pg from 'pg';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

async function restricted() {
  const made = await createPlace(await server.account());
  const { account, agent, project } = made;
  const { admin } = account;
  const path = `/agents/${agent.agentId}`;
  assert.equal((await admin.patch<Agent>(path, { restrictedAccess: true })).body.restrictedAccess, true);
  const list = async (method: 'PUT' | 'PATCH' | 'DELETE', projects?: AgentAllowlist['projects']) => {
    const request = projects === undefined ? {} : { body: { projects } };
    const answer = await admin.send<AgentAllowlist>(method, `${path}/allowlist`, request);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.projects;
  };
  const start = () => createExecution(made);
  const instance = createInstance(agent);
  await instance.hello();
  return { ...made, admin, path, list, start, instance, projectId: project.projectId };
}

async function endOf({ admin }: Pick<Awaited<ReturnType<typeof restricted>>, 'admin'>, path: string) {
  await server.sweep();
  const { body } = await admin.get<{ status: string; message?: string; finishedAt?: string }>(path);
  return body;
}

test('an execution of a place that is not on the list ends as FORBIDDEN, with the reason', async () => {
  const at = await restricted();
  const path = await at.start();
  assert.deepEqual((await at.instance.claim()).work, [], 'it can never be claimed');
  const { status, message, finishedAt } = await endOf(at, path);
  assert.equal(status, 'FORBIDDEN');
  assert.match(message ?? '', /restricted, and its allowlist does not include the environment "dev"/);
  assert.ok(finishedAt);
});

test('an execution of a listed environment, or of any environment of a listed project, runs', async () => {
  const at = await restricted();
  const { projectId } = at;
  for (const allowed of [{ environments: ['dev', 'prod'] }, {}]) {
    assert.deepEqual(await at.list('PUT', { [projectId]: allowed }), { [projectId]: allowed });
    const path = await at.start();
    await server.sweep();
    const [work] = (await at.instance.claim()).work;
    assert.equal(work?.workId, path.split('/').at(-1));
  }
  await at.list('PUT', { [projectId]: { environments: ['prod'] } });
  assert.equal((await endOf(at, await at.start())).status, 'FORBIDDEN');
});

test('the list applies at the time of the claim; an agent without restricted access runs everything', async () => {
  const at = await restricted();
  await at.list('PUT', { [at.projectId]: {} });
  const waiting = await at.start();
  await at.list('DELETE');
  assert.equal((await endOf(at, waiting)).status, 'FORBIDDEN');
  await at.admin.patch(at.path, { restrictedAccess: false });
  assert.equal((await endOf(at, await at.start())).status, 'RUNNING');
  assert.equal((await at.instance.claim()).work.length, 1);
});

test('work locked by another server’s sweep, with an earlier allowlist, is checked again', async () => {
  const at = await restricted();
  await at.list('PUT', { [at.projectId]: {} });
  const waiting = await at.start();
  const other = new pg.Client(server.database.connection);
  await other.connect();
  try {
    const workId = waiting.split('/').at(-1);
    await other.query('begin');
    await other.query('select from work where work_id = $1 for update', [workId]);
    await at.list('DELETE');
    assert.equal((await endOf(at, waiting)).status, 'RUNNING', 'another server holds it');
    await other.query(`update work set due_at = now() + interval '1 day' where work_id = $1`, [workId]);
    await other.query('commit');
  } finally {
    await other.end();
  }
  assert.equal((await endOf(at, waiting)).status, 'FORBIDDEN');
});

test('PUT replaces the list, PATCH changes it by project, DELETE empties it', async () => {
  const at = await restricted();
  const { projectId } = at;
  const other = (await at.account.project()).projectId;
  await at.list('PUT', { [projectId]: { environments: ['dev'] } });
  const both = { [projectId]: { environments: ['dev'] }, [other]: {} };
  assert.deepEqual(await at.list('PATCH', { [other]: {} }), both);
  const narrower = { [projectId]: { environments: ['prod'] }, [other]: {} };
  assert.deepEqual(await at.list('PATCH', { [projectId]: { environments: ['prod'] } }), narrower);
  assert.deepEqual(await at.list('PATCH', {}), narrower);
  assert.deepEqual(await at.list('PUT', { [other]: {} }), { [other]: {} });
  assert.deepEqual(await at.list('DELETE'), {});
});

test('unknown projects and environments are refused by name, and nothing changes', async () => {
  const at = await restricted();
  const { admin, path, projectId } = at;
  const foreign = (await (await server.account()).project()).projectId;
  await at.list('PUT', { [projectId]: {} });
  const put = (projects: object) => admin.send('PUT', `${path}/allowlist`, { body: { projects } });
  for (const id of [foreign, 'nothing'])
    assert.match(requireProblem(await put({ [id]: {} }), 422, 'unknown-project').detail, new RegExp(id));
  const unknown = await put({ [projectId]: { environments: ['uat'] } });
  assert.match(requireProblem(unknown, 422, 'unknown-environment').detail, /"uat"/);
  requireProblem(await put({ [projectId]: { environments: [] } }), 400, 'invalid-request');
  assert.deepEqual(await at.list('PATCH', {}), { [projectId]: {} });
});

test('a deleted project or environment leaves the list: a new one of the same name is not allowed', async () => {
  const at = await restricted();
  const { admin, project, projectId } = at;
  await at.list('PUT', { [projectId]: { environments: ['dev', 'prod'] } });
  await admin.delete(`${project.path}/environments/prod?confirm=true`);
  await admin.post(`${project.path}/environments`, { name: 'prod' });
  assert.deepEqual(await at.list('PATCH', {}), { [projectId]: { environments: ['dev'] } });
  await admin.delete(project.path);
  assert.deepEqual(await at.list('PATCH', {}), {});
});
