/** The pipelines that can be started in an environment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, PublishedPipeline } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const transformation = JSON.stringify({ type: 'transformation', pipeline: {} });

async function createProject() {
  const { admin, project: make } = await server.account();
  const made = await make();
  const publish = async (versionName: string, names: string[]) => {
    server.clock.advance(1);
    const parts = names.map((name) => ({
      name,
      content: name.endsWith('.tran.yaml') ? transformation : smallPipeline,
    }));
    assert.equal((await upload(admin, made, parts, { versionName })).status, 201);
    return server.clock.now().toISOString();
  };
  const listPublished = (query: string) =>
    admin.get<Page<PublishedPipeline>>(`${made.path}/published-pipelines?${query}`);
  return { admin, made, publish, listPublished };
}

test('the pipelines of the newest enabled version are listed by name with extension', async () => {
  const { admin, made, publish, listPublished } = await createProject();
  assert.deepEqual((await listPublished('environmentName=dev')).body, {
    page: 0,
    results: [],
    size: 25,
    total: 0,
  });
  const first = await publish('1', ['a.orch.yaml']);
  const second = await publish('2', ['sub/b.orch.yaml', 'a.tran.yaml', 'a.orch.yaml', 'readme.md']);
  const { results, total } = (await listPublished('environmentName=dev')).body;
  assert.deepEqual(results, [
    { name: 'a.orch.yaml', publishedTime: second },
    { name: 'a.tran.yaml', publishedTime: second },
    { name: 'sub/b.orch.yaml', publishedTime: second },
  ]);
  assert.equal(total, 3);
  const page = (await listPublished('environmentName=dev&page=1&size=2')).body;
  assert.deepEqual([page.results.map(({ name }) => name), page.total], [['sub/b.orch.yaml'], 3]);
  await admin.patch(`${made.path}/artifacts`, { environmentName: 'dev', versionName: '2', enabled: false });
  assert.deepEqual((await listPublished('environmentName=dev')).body.results, [
    { name: 'a.orch.yaml', publishedTime: first },
  ]);
});

test('the environment is required and must exist', async () => {
  const { listPublished } = await createProject();
  requireProblem(await listPublished(''), 400, 'invalid-request');
  requireProblem(await listPublished('environmentName=nowhere'), 404, 'environment-not-found');
});

test('a role in the environment suffices to list what can be started there', async () => {
  const account = await server.account();
  const { path, projectId } = await account.project();
  for (const role of ['OPERATOR', 'VIEWER'] as const) {
    const actor = await account.actor('MEMBER', { projectId, environmentName: 'dev', role });
    const list = (environmentName: string) =>
      actor.get(`${path}/published-pipelines?environmentName=${environmentName}`);
    assert.equal((await list('dev')).status, 200, role);
    requireProblem(await list('prod'), 403, 'forbidden');
  }
});
