/** Pipelines ignored at upload because they cannot be read: starting or calling one returns the reason. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IgnoredPipeline } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { makePipelineUsing, publishShared } from '../../../testing/shared-pipelines.ts';

const server = await startTestServer();
const broken = 'type: orchestration\npipeline: [\n';

async function project(parts: Record<string, string | Buffer>) {
  const account = await server.account();
  const agent = await account.agent();
  const { admin } = account;
  const made = await account.project();
  await upload(
    admin,
    made,
    Object.entries(parts).map(([name, content]) => ({ name, content })),
  );
  const start = (pipelineName: string, environmentName = 'dev') =>
    admin.post(`${made.path}/pipeline-executions`, { pipelineName, environmentName });
  return { admin, made, start, instance: createInstance(agent) };
}

test('starting a pipeline that was ignored at upload returns the reason with its line', async () => {
  const { start } = await project({
    'a.txt': '',
    'main.orch.yaml': broken,
    'text.orch.yaml': Buffer.from([0]),
  });
  for (const name of ['main', 'main.orch.yaml', '/main']) {
    const { detail } = requireProblem(await start(name), 422, 'pipeline-unreadable');
    assert.match(
      detail,
      /"v1" does not have "main\.orch\.yaml", because the file could not be read when it was uploaded: line 2, column \d+: .*Correct the file/,
    );
  }
  assert.match(requireProblem(await start('text'), 422, 'pipeline-unreadable').detail, /not a text file/);
  requireProblem(await start('main.tran.yaml'), 404, 'pipeline-not-found');
});

test('a name without extension does not start a different pipeline than the ignored one', async () => {
  const transformation = JSON.stringify({ type: 'transformation', pipeline: {} });
  const { start } = await project({ 'main.orch.yaml': broken, 'main.tran.yaml': transformation });
  requireProblem(await start('main'), 422, 'pipeline-unreadable');
  assert.equal((await start('main.tran.yaml')).status, 201);
});

test('a promoted version keeps the reasons', async () => {
  const { admin, made, start } = await project({ 'a.txt': '', 'main.orch.yaml': broken });
  const promotion = { versionName: 'v1', sourceEnvironmentName: 'dev', targetEnvironmentName: 'prod' };
  assert.equal((await admin.post(`${made.path}/artifacts/promotions`, promotion)).status, 201);
  requireProblem(await start('main', 'prod'), 422, 'pipeline-unreadable');
});

test('a version without the broken file has no reason', async () => {
  const { admin, made, start } = await project({ 'a.orch.yaml': smallPipeline, 'main.orch.yaml': broken });
  server.clock.advance(1);
  await upload(admin, made, [{ name: 'a.orch.yaml', content: smallPipeline }], { versionName: 'v2' });
  requireProblem(await start('main'), 404, 'pipeline-not-found');
});

test('the agent gets the ignored pipelines, including those of shared pipelines', async () => {
  const { admin, start, instance } = await project({
    'main.orch.yaml': makePipelineUsing({ prefix: 'Checks' }),
    'child.orch.yaml': broken,
  });
  await publishShared(admin, [
    { name: 'check.orch.yaml', content: smallPipeline },
    { name: 'inner.orch.yaml', content: broken },
  ]);
  assert.equal((await start('main')).status, 201);
  const [work] = (await instance.claim()).work;
  const summarize = (ignored: readonly IgnoredPipeline[] | undefined) =>
    ignored?.map(({ path, reason, line }) => [path, /^line 2, column \d+: /.test(reason), line]);
  assert.deepEqual(summarize(work?.payload.ignoredPipelines), [['child.orch.yaml', true, 2]]);
  assert.deepEqual(summarize(work?.payload.sharedArtifacts?.[0]?.ignoredPipelines), [
    ['inner.orch.yaml', true, 2],
  ]);
});

test('the number and length of reasons are limited', async () => {
  const long = `type: orchestration\npipeline:\n  components:\n    A: {transitions: {${'x'.repeat(900)}: [a]}, type: or}\n`;
  const files = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`p${index}.orch.yaml`, long]));
  const { start, instance } = await project({ 'main.orch.yaml': smallPipeline, ...files });
  assert.equal((await start('main')).status, 201);
  const ignored = (await instance.claim()).work[0]?.payload.ignoredPipelines ?? [];
  assert.equal(ignored.length, 100);
  assert.ok(ignored.every(({ reason }) => reason.length <= 500));
  requireProblem(await start('p149'), 422, 'pipeline-unreadable');
});
