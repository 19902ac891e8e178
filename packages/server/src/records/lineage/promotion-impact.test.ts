/** The dry run of a promotion lists the columns that readers in the target environment lose. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PromotionDryRun } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { copyOf, createLineageScene, table } from '../../../testing/lineage-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const pipelines = ['clean.orch.yaml', 'report.orch.yaml', 'board.orch.yaml'];

/**
 * prod runs v1: clean writes city and amount, which report and board read. dev runs v2, whose clean writes city and
 * total.
 */
async function city() {
  const scene = await createLineageScene(server);
  await scene.publish('prod', 'v1', pipelines);
  await scene.run(copyOf('raw', 'clean', 'city', 'amount'), 'clean', 'prod');
  await scene.run(copyOf('clean', 'report', 'city', 'amount'), 'report', 'prod');
  await scene.run(copyOf('clean', 'board', 'amount'), 'board', 'prod');
  await scene.publish('dev', 'v2', pipelines);
  await scene.run(copyOf('raw', 'clean', 'City', 'total'), 'clean');
  await scene.account.updateLineage();
  const body = { versionName: 'v2', sourceEnvironmentName: 'dev', targetEnvironmentName: 'prod' };
  const promotions = `${scene.project.path}/artifacts/promotions`;
  const check = (change: object = {}, by = scene.admin) =>
    by.post<PromotionDryRun>(`${promotions}?dryRun=true`, { ...body, ...change });
  return { ...scene, body, promotions, check };
}

test('a column that the version no longer writes is listed with its readers, and nothing is promoted', async () => {
  const { admin, project, check, body, promotions } = await city();
  assert.deepEqual((await check()).body, {
    environmentName: 'prod',
    versionName: 'v2',
    comparedPipelines: 1,
    notCompared: { neverRun: 2, otherVersion: 0, unknownColumns: 0, unknownReaders: 0 },
    lostColumns: [{ dataset: 'clean', column: 'amount', readers: ['board.orch.yaml', 'report.orch.yaml'] }],
    truncated: false,
  });
  const { total } = (
    await admin.get<{ total: number }>(`${project.path}/artifacts?environmentName=prod&enabledOnly=false`)
  ).body;
  assert.equal(total, 1);
  assert.equal((await admin.post(promotions, body)).status, 201);
  requireProblem(await check(), 409, 'version-exists');
});

test('a reader that has run with the version is judged by that run', async () => {
  const { account, run, check } = await city();
  await run(copyOf('clean', 'report', 'City', 'total'), 'report');
  await account.updateLineage();
  const { lostColumns, comparedPipelines } = (await check()).body;
  assert.equal(comparedPipelines, 2);
  assert.deepEqual(lostColumns, [{ dataset: 'clean', column: 'amount', readers: ['board.orch.yaml'] }]);
});

test('a version that has not run says that nothing was compared', async () => {
  const { publish, check } = await city();
  await publish('dev', 'v3', pipelines);
  const { lostColumns, comparedPipelines, notCompared } = (await check({ versionName: 'v3' })).body;
  assert.deepEqual([lostColumns, comparedPipelines], [[], 0]);
  assert.deepEqual(notCompared, { neverRun: 2, otherVersion: 1, unknownColumns: 0, unknownReaders: 0 });
});

test('datasets and readers whose columns are not known are counted', async () => {
  const { account, run, check } = await city();
  const reads = { inputs: [{ kind: 'warehouse' as const, name: 'clean' }], outputs: [table('blind', 'a')] };
  await run(reads, 'report', 'prod');
  await account.updateLineage();
  assert.deepEqual((await check()).body.notCompared, {
    ...{ neverRun: 2, otherVersion: 0, unknownColumns: 0, unknownReaders: 1 },
  });
  await run({ inputs: [], outputs: [{ kind: 'warehouse', name: 'clean' }] }, 'clean');
  await account.updateLineage();
  const { comparedPipelines, notCompared } = (await check()).body;
  assert.deepEqual([comparedPipelines, notCompared.unknownColumns], [1, 1]);
});

test('a dry run is refused as the promotion would be', async () => {
  const { account, project, check } = await city();
  requireProblem(await check({ versionName: 'v9' }), 404, 'artifact-not-found');
  requireProblem(await check({ targetEnvironmentName: 'dev' }), 422, 'promotion-to-itself');
  const viewer = await account.actor('MEMBER', { projectId: project.projectId, role: 'VIEWER' });
  requireProblem(await check({}, viewer), 403, 'forbidden');
});
