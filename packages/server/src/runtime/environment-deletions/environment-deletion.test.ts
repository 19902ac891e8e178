/** The deletion of environments that hold tables, and what agents learn of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeletedEnvironments } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { createQueryingAgent } from '../../../testing/querying-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(patientRequests);
const parts = [{ name: 'main.orch.yaml', content: smallPipeline }];
const tablesOf = (...names: string[]) => ({
  columns: ['name', 'total'],
  rows: names.map((name) => [name, names.length]),
  isCut: false,
});

async function scene() {
  const account = await server.account();
  const project = await account.project();
  await upload(account.admin, project, parts);
  const path = `${project.path}/environments/dev`;
  const readEvent = async () => {
    const [event] = await server.database.query<{ state_before: Record<string, unknown> }>(
      "select state_before from event where project_id = $1 and name = 'environment-deleted'",
      [project.projectId],
    );
    return event?.state_before;
  };
  const readGeneration = async () => {
    const [row] = await server.database.query<{ generation: number }>(
      "select generation from environment where project_id = $1 and name = 'dev'",
      [project.projectId],
    );
    return row?.generation;
  };
  return { account, project, path, readEvent, readGeneration, admin: account.admin };
}

test('an environment with tables is deleted only with confirm, and its event names them', async () => {
  const { account, path, readEvent, admin } = await scene();
  const agent = await createQueryingAgent(account);
  const names = Array.from({ length: 12 }, (_, at) => `t${at}`);
  const listing = agent.answerNext(tablesOf(...names));
  const refused = requireProblem(await admin.delete(path), 409, 'environment-holds-tables');
  assert.match((await listing).sql, /information_schema.tables/);
  assert.match(refused.detail, /holds 12 tables: "t0", .*"t9" and 2 more\. .*`\?confirm=true`/);
  assert.equal((await admin.get(path)).status, 200);
  const again = agent.answerNext(tablesOf(...names));
  assert.equal((await admin.delete(`${path}?confirm=true`)).status, 204);
  await again;
  const { tables, tableCount } = (await readEvent()) ?? {};
  assert.deepEqual([tables, tableCount], [names, 12]);
});

test('an environment whose agent has no tables of it, or that never had a version, is deleted as before', async () => {
  const { account, project, path, readEvent, admin } = await scene();
  assert.equal((await admin.delete(`${project.path}/environments/prod`)).status, 204);
  const agent = await createQueryingAgent(account);
  const listing = agent.answerNext(tablesOf());
  assert.equal((await admin.delete(path)).status, 204);
  await listing;
  assert.ok(!('tables' in ((await readEvent()) ?? {})));
});

test('without an answer of its agent it is deleted only with confirm, and its event says why', async () => {
  const { account, path, readEvent, admin } = await scene();
  const agent = await createQueryingAgent(account, 'oslo');
  const failing = agent.answerNext({ message: 'the disk is broken' });
  const refused = requireProblem(await admin.delete(path), 409, 'environment-holds-tables');
  await failing;
  assert.match(
    refused.detail,
    /may hold tables, and its agent "oslo" could not list them \(the disk is broken\)/,
  );
  server.clock.advance(600);
  const away = requireProblem(await admin.delete(path), 409, 'environment-holds-tables');
  assert.match(away.detail, /its agent "oslo" is not connected/);
  assert.equal((await admin.delete(`${path}?confirm=true`)).status, 204);
  assert.match(String((await readEvent())?.tablesUnknown), /not connected/);
});

test('an environment that is created again has another generation, and agents learn which ones are deleted', async () => {
  const { account, project, path, readGeneration, admin } = await scene();
  const agent = await account.agent();
  const ask = async (projectIds: string[], after?: object) =>
    (await agent.client.post<DeletedEnvironments>('/deleted-environments', { projectIds, after })).body;
  assert.equal(await readGeneration(), 1);
  for (const generation of [1, 2]) {
    assert.equal((await admin.delete(`${path}?confirm=true`)).status, 204);
    const place = { projectId: project.projectId, environmentName: 'dev' };
    assert.deepEqual(await ask([project.projectId]), { deleted: [{ ...place, generation }], isCut: false });
    assert.deepEqual(await ask([project.projectId], place), { deleted: [], isCut: false });
    await admin.post(`${project.path}/environments`, { name: 'dev' });
    assert.equal(await readGeneration(), generation + 1);
  }
  const stranger = await (await server.account()).agent();
  const answered = await stranger.client.post<DeletedEnvironments>('/deleted-environments', {
    projectIds: [project.projectId],
  });
  assert.deepEqual(answered.body.deleted, [], 'of another account');
  assert.equal((await admin.delete(project.path)).status, 204);
  const all = (await ask([project.projectId])).deleted;
  assert.deepEqual(
    all.map(({ environmentName, generation }) => [environmentName, generation]),
    [
      ['dev', 3],
      ['prod', 1],
    ],
    'with their project',
  );
});

test('a deletion and a creation of the same name at the same time never share a generation', async () => {
  const { project, path, readGeneration, admin } = await scene();
  for (let round = 0; round < 5; round += 1) {
    const before = (await readGeneration()) ?? 0;
    const [deleted, created] = await Promise.all([
      admin.delete(`${path}?confirm=true`),
      admin.post(`${project.path}/environments`, { name: 'dev' }),
    ]);
    assert.equal(deleted.status, 204);
    if (created.status !== 201) await admin.post(`${project.path}/environments`, { name: 'dev' });
    assert.equal(await readGeneration(), before + 1);
  }
});

test('work of a later generation goes only to an instance that knows them, and names it', async () => {
  const { account, project, path, admin } = await scene();
  const agent = await account.agent();
  await admin.delete(`${path}?confirm=true`);
  await admin.post(`${project.path}/environments`, { name: 'dev', defaultAgentId: agent.agentId });
  await upload(admin, project, parts);
  const started = await admin.post(`${project.path}/pipeline-executions`, {
    pipelineName: 'main',
    environmentName: 'dev',
  });
  assert.equal(started.status, 201, started.text);
  const [older, newer] = [createInstance(agent), createInstance(agent)];
  await older.hello({ abilities: ['pipeline-execution'] });
  assert.deepEqual((await older.claim(1, 0)).work, []);
  await newer.hello({ abilities: ['pipeline-execution', 'environment-generations'] });
  const [work] = (await newer.claim(1, 0)).work;
  assert.equal(work?.payload.generation, 2);
});
