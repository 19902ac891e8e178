/** The dry run of a promotion lists the columns that readers in the target environment lose. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
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

test('environments with other databases and schemas are compared under the names of the target', async () => {
  const scene = await createLineageScene(server, async ({ admin }) => {
    const { projectId } = (
      await admin.post<{ projectId: string }>('/projects', {
        ...{ name: randomUUID(), warehouse: 'POSTGRES', agentDeploymentType: 'HYBRID' },
      })
    ).body;
    const path = `/projects/${projectId}`;
    const connectionName = 'warehouse';
    const properties = {
      host: { value: 'db.example.com' },
      database: { value: 'trial' },
      schema: { value: 'a.b' },
    };
    await admin.post(`${path}/data-platform-connections`, {
      ...{
        name: connectionName,
        platformConnectionType: 'DWH',
        authProvider: 'POSTGRES',
        authType: 'PASSWORD',
      },
      connectionProperties: properties,
    });
    const defaultConnections = { DWH: { POSTGRES: connectionName } };
    await admin.post(`${path}/environments`, { name: 'dev', defaultConnections });
    const change = { database: { value: 'shop' }, schema: { value: 'live' } };
    const connectionOverrides = [{ connectionName, connectionProperties: change }];
    await admin.post(`${path}/environments`, { name: 'prod', defaultConnections, connectionOverrides });
    return { projectId, path };
  });
  const { admin, project, publish, run, account } = scene;
  await publish('prod', 'v1', pipelines);
  await run(copyOf('shop.live.clean', 'shop.live.report', 'city', 'amount'), 'report', 'prod');
  await run(copyOf('shop.shared.codes', 'shop.live.board', 'code'), 'board', 'prod');
  await publish('dev', 'v2', pipelines);
  const written = [table('trial."a.b".clean', 'city'), table('trial.shared.codes', 'name')];
  await run({ inputs: [], outputs: written }, 'clean');
  await account.updateLineage();
  const body = { versionName: 'v2', sourceEnvironmentName: 'dev', targetEnvironmentName: 'prod' };
  const dryRun = () => admin.post<PromotionDryRun>(`${project.path}/artifacts/promotions?dryRun=true`, body);
  const codes = { dataset: 'shop.shared.codes', column: 'code', readers: ['board.orch.yaml'] };
  assert.deepEqual((await dryRun()).body.lostColumns, [
    { dataset: 'shop.live.clean', column: 'amount', readers: ['report.orch.yaml'] },
    codes,
  ]);
  await run(copyOf('trial."a.b".clean', 'trial."a.b".report', 'city'), 'report');
  await account.updateLineage();
  const { lostColumns, notCompared } = (await dryRun()).body;
  assert.deepEqual(lostColumns, [codes]);
  assert.deepEqual(notCompared, { neverRun: 1, otherVersion: 0, unknownColumns: 0, unknownReaders: 0 });
});
