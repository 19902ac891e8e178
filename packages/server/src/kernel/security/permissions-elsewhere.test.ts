/** Checks what a caller with a role in one place finds out about another: environments, projects, accounts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentRoles, isOfProject, type Operation } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { examples } from '../../../testing/guards.ts';
import { createRequests, findUnknown, shown } from '../../../testing/permission-walk.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const never = '01890000-0000-7000-8000-000000000000';

test('a role in one environment neither promotes to, starts in, enables in nor overrides connections of another', async () => {
  const place = await createPlace(await server.account());
  const { path, projectId } = place.project;
  const actor = await place.account.actor('MEMBER', {
    projectId,
    environmentName: 'dev',
    role: 'CONTRIBUTOR',
  });
  const override = await examples.writeConnectionOverride?.(place);
  const attempts: [string, string, object][] = [
    ['POST', `${path}/artifacts/promotions`, promotionToProd],
    ['POST', `${path}/pipeline-executions`, { pipelineName: 'main', environmentName: 'prod' }],
    ['PATCH', `${path}/artifacts`, { environmentName: 'prod', versionName: 'v1', enabled: false }],
    ['POST', override?.path ?? '', { ...(override?.body as object), environmentName: 'prod' }],
  ];
  for (const [method, at, body] of attempts) {
    const answer = await actor.send(method, at, { body, headers: { environmentName: 'dev' } });
    const { detail } = requireProblem(answer, 403, 'forbidden');
    assert.match(detail, /^This needs the permission environment:(deliver|run) \(/);
    assert.match(
      detail,
      /OWNER, .*CONTRIBUTOR.* in the environment "prod"|OWNER or CONTRIBUTOR in the environment "prod"/,
    );
    assert.match(detail, /The caller has: MEMBER in the account; CONTRIBUTOR in the environment "dev"\.$/);
  }
});

const promotionToProd = {
  versionName: 'v1',
  sourceEnvironmentName: 'dev',
  targetEnvironmentName: 'prod',
};

test('only callers with a role in the environment see its executions', async () => {
  const place = await createPlace(await server.account());
  const { projectId } = place.project;
  const start = { pipelineName: 'main', environmentName: 'dev', agentId: place.agent.agentId };
  await place.account.admin.post(`${place.project.path}/pipeline-executions`, start);
  for (const role of environmentRoles) {
    for (const [environmentName, count] of [
      ['dev', 1],
      ['prod', 0],
    ] as const) {
      const grant = { projectId, environmentName, role };
      for (const actor of [
        await place.account.actor('MEMBER', grant),
        await place.account.user(undefined, grant),
      ]) {
        const { results } = (await actor.get<{ results: unknown[] }>('/pipeline-executions')).body;
        assert.equal(results.length, count, `${role} in ${environmentName}`);
      }
    }
  }
});

test('for every operation a project of another account looks like one that does not exist', async () => {
  const stranger = (await server.account()).admin;
  const createOwnPlace = async () => createPlace(await server.account());
  const findRequest = await createRequests(createOwnPlace);
  const named = shown.filter((each) => isOfProject(each) && each.projectFrom !== 'resource');
  for (const operation of named) {
    const { place, request } = await findRequest(operation, 'unknown', createOwnPlace);
    const { path, ...asked } = request;
    const foreign = (await stranger.send(operation.method, path, asked)).problem;
    const { projectId } = place.project;
    const nowhere = { ...asked, ...(isNamedInBody(operation) && { body: renameIn(asked.body, projectId) }) };
    const unknown = (await stranger.send(operation.method, path.replace(projectId, never), nowhere)).problem;
    const bare = ({ traceId: _, ...rest }: typeof foreign) =>
      JSON.stringify(rest)
        .replaceAll(place.project.projectId, never)
        .replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}/g, 'id');
    assert.equal(bare(foreign), bare(unknown), operation.id);
    assert.equal(foreign.code, 'project-not-found', operation.id);
  }
});

const isNamedInBody = ({ projectFrom }: Operation) => projectFrom !== undefined;
const renameIn = (body: unknown, projectId: string): unknown =>
  JSON.parse(JSON.stringify(body).replaceAll(projectId, never));

test('a resource of another account that names no project looks like one that does not exist', async () => {
  const stranger = (await server.account()).admin;
  const createOwnPlace = async () => createPlace(await server.account());
  const findRequest = await createRequests(createOwnPlace);
  for (const operation of shown.filter(({ projectFrom }) => projectFrom === 'resource')) {
    const { path, ...asked } = (await findRequest(operation, 'unknown', createOwnPlace)).request;
    const foreign = (await stranger.send(operation.method, path, asked)).problem;
    const elsewhere = path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, never);
    const unknown = (await stranger.send(operation.method, elsewhere, asked)).problem;
    assert.equal(foreign.code, findUnknown(operation), operation.id);
    assert.equal(unknown.code, foreign.code, operation.id);
    assert.equal(
      unknown.detail.replaceAll(never, 'id'),
      foreign.detail.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id'),
    );
  }
});

test('lists contain nothing of other accounts', async () => {
  const place = await createPlace(await server.account());
  const { path, ...asked } = (await examples.startPipelineExecution?.(place)) ?? assert.fail();
  await place.account.admin.post(path, asked.body);
  const stranger = (await server.account()).admin;
  for (const list of ['/projects', '/agents', '/pipeline-executions']) {
    assert.equal((await place.account.admin.get<{ results: unknown[] }>(list)).body.results.length > 0, true);
    assert.deepEqual((await stranger.get<{ results: unknown[] }>(list)).body.results, []);
  }
});

test('two accounts may use the same names', async () => {
  const [one, other] = [await createPlace(await server.account()), await createPlace(await server.account())];
  const change = { type: 'TEXT', behaviour: 'SHARED', value: 'changed' };
  await one.account.admin.patch(`${one.project.path}/variables/city`, change);
  const { body } = await other.account.admin.get<{ value: string }>(`${other.project.path}/variables/city`);
  assert.equal(body.value, 'Oslo');
});

test('a missing permission is reported before conflicts and missing resources', async () => {
  const place = await createPlace(await server.account());
  const viewer = await place.account.actor('MEMBER', { projectId: place.project.projectId, role: 'VIEWER' });
  const stranger = await place.account.actor('MEMBER');
  const misfit = { name: 'city', type: 'NUMBER', behaviour: 'SHARED', value: 'x' };
  const variables = `${place.project.path}/variables`;
  requireProblem(await viewer.post(variables, misfit), 403, 'forbidden');
  requireProblem(await stranger.post(variables, misfit), 404, 'project-not-found');
  requireProblem(await viewer.patch(`${variables}/town`, misfit), 403, 'forbidden');
  requireProblem(await stranger.delete(`${variables}/town`), 404, 'project-not-found');
  requireProblem(await stranger.post(`${variables}/town/environment-overrides`, []), 400, 'invalid-request');
  const start = { pipelineName: 'nothing', environmentName: 'uat' };
  requireProblem(await viewer.post(`${place.project.path}/pipeline-executions`, start), 403, 'forbidden');
});
