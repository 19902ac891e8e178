import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, PublishedPipeline } from '@headgate/contract';
import { requireProblem } from '../../testing/client.ts';
import { smallPipeline, upload } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer();

async function project() {
  const account = await server.account();
  const made = await account.project();
  const { admin } = account;
  const publish = (names: readonly string[], headers: Record<string, string>) =>
    upload(
      admin,
      made,
      names.map((name) => ({ name, content: smallPipeline })),
      headers,
    );
  const list = async (query = 'environmentName=dev') =>
    (await admin.get<Page<PublishedPipeline>>(`${made.path}/published-pipelines?${query}`)).body;
  return { admin, made, publish, list };
}

test('the pipelines of the newest enabled version are listed by the path of their file', async () => {
  const { admin, made, publish, list } = await project();
  assert.deepEqual(await list(), { page: 0, results: [], size: 25, total: 0 });
  await publish(['b.orch.yaml', 'folder/a.orch.yaml'], { versionName: 'v1' });
  const first = server.clock.now().toISOString();
  const named = (name: string, publishedTime: string) => ({ name, publishedTime });
  const old = [named('b.orch.yaml', first), named('folder/a.orch.yaml', first)];
  assert.deepEqual((await list()).results, old);
  server.clock.advance(60);
  await publish(['c.orch.yaml'], { versionName: 'v2' });
  assert.deepEqual((await list()).results, [named('c.orch.yaml', server.clock.now().toISOString())]);
  await admin.patch(`${made.path}/artifacts`, { environmentName: 'dev', versionName: 'v2', enabled: false });
  assert.deepEqual((await list()).results, old);
});

test('they are paged, of one environment, and an unknown one is not found', async () => {
  const { admin, made, publish, list } = await project();
  await publish(['a.orch.yaml', 'b.orch.yaml', 'c.orch.yaml'], { versionName: 'v1' });
  const { results, ...rest } = await list('environmentName=dev&page=1&size=2');
  assert.deepEqual(
    results.map(({ name }) => name),
    ['c.orch.yaml'],
  );
  assert.deepEqual(rest, { page: 1, size: 2, total: 3 });
  assert.equal((await list('environmentName=prod')).total, 0);
  const path = `${made.path}/published-pipelines`;
  requireProblem(await admin.get(`${path}?environmentName=none`), 404, 'environment-not-found');
  requireProblem(await admin.get(path), 400, 'invalid-request');
});
