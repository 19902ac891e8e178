import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, Project } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const expected = {
  name: 'Sales',
  description: 'What was sold',
  warehouse: 'DUCKDB',
  agentDeploymentType: 'HYBRID',
};

test('a project is created, found at its Location, and listed', async () => {
  const { admin } = await server.account();
  const created = await admin.post<{ projectId: string }>('/projects', expected);
  assert.equal(created.status, 201);
  const { projectId } = created.body;
  assert.ok(created.headers.location?.endsWith(`/dpc/v1/projects/${projectId}`));
  const read = await admin.get<Project>(`/projects/${projectId}`);
  assert.deepEqual(read.body, { id: projectId, name: 'Sales', description: 'What was sold' });
  assert.equal(read.etag, created.etag);
  assert.deepEqual((await admin.get<Page<Project>>('/projects')).body.results, [read.body]);
});

test('a missing description is absent from responses', async () => {
  const { admin } = await server.account();
  const { description: _, ...bare } = expected;
  const { projectId } = (await admin.post<{ projectId: string }>('/projects', bare)).body;
  assert.deepEqual((await admin.get<Project>(`/projects/${projectId}`)).body, {
    id: projectId,
    name: 'Sales',
  });
});

test('a project created without a warehouse has the embedded one', async () => {
  const { admin, accountId } = await server.account();
  const { warehouse: _, ...bare } = expected;
  assert.equal((await admin.post('/projects', bare)).status, 201);
  const rows = await server.database.query('select warehouse from project where account_id = $1', [
    accountId,
  ]);
  assert.deepEqual(rows, [{ warehouse: 'DUCKDB' }]);
  const refused = await admin.post('/projects', { ...expected, name: 'b', warehouse: 'ORACLE' });
  requireProblem(refused, 400, 'invalid-request');
});

test('a project with DuckDB has a dialect of its SQL, and says whether statements of access fail', async () => {
  const { admin } = await server.account();
  const sql = { sqlDialect: 'REDSHIFT', ignoreAccessStatements: true };
  const { projectId } = (await admin.post<{ projectId: string }>('/projects', { ...expected, ...sql })).body;
  const path = `/projects/${projectId}`;
  const shown = { id: projectId, name: 'Sales', description: 'What was sold' };
  assert.deepEqual((await admin.get<Project>(path)).body, { ...shown, ...sql });
  assert.deepEqual((await admin.patch<Project>(path, { description: 'x' })).body, {
    ...shown,
    description: 'x',
    ...sql,
  });
  const changed = await admin.patch<Project>(path, {
    sqlDialect: 'SNOWFLAKE',
    ignoreAccessStatements: false,
  });
  assert.deepEqual(changed.body, { ...shown, description: 'x' });
  requireProblem(await admin.patch(path, { sqlDialect: 'ORACLE' }), 400, 'invalid-request');

  const other = { ...expected, name: 'Other', warehouse: 'SNOWFLAKE' };
  for (const member of ['sqlDialect', 'ignoreAccessStatements'] as const) {
    const input = { [member]: sql[member] };
    const refused = requireProblem(
      await admin.post('/projects', { ...other, ...input }),
      422,
      'sql-without-duckdb',
    );
    assert.match(refused.detail, member === 'sqlDialect' ? /sqlDialect/ : /ignoreAccessStatements/);
  }
  const made = (await admin.post<{ projectId: string }>('/projects', other)).body;
  requireProblem(
    await admin.patch(`/projects/${made.projectId}`, { sqlDialect: 'REDSHIFT' }),
    422,
    'sql-without-duckdb',
  );
});

test('project names are unique in an account', async () => {
  const [one, other] = [await server.account(), await server.account()];
  await one.admin.post('/projects', expected);
  const refused = requireProblem(await one.admin.post('/projects', expected), 409, 'project-name-taken');
  assert.match(refused.detail, /"Sales"/);
  assert.equal((await other.admin.post('/projects', expected)).status, 201);
});

test('projects are listed newest first', async () => {
  const { admin } = await server.account();
  for (const name of ['first', 'second', 'third']) await admin.post('/projects', { ...expected, name });
  const { body } = await admin.get<Page<Project>>('/projects?size=2');
  assert.deepEqual(
    body.results.map((project) => project.name),
    ['third', 'second'],
  );
  assert.deepEqual({ ...body, results: [] }, { page: 0, size: 2, total: 3, results: [] });
  const next = (await admin.get<Page<Project>>('/projects?size=2&page=1')).body;
  assert.deepEqual([next.page, next.results.map((project) => project.name)], [1, ['first']]);
});

test('the creator of a project becomes its Owner', async () => {
  const account = await server.account();
  const creator = await account.actor('BILLING_ADMIN');
  const { projectId } = (await creator.post<{ projectId: string }>('/projects', expected)).body;
  assert.equal((await creator.post(`/projects/${projectId}/environments`, { name: 'dev' })).status, 201);
});

test('the list contains the projects in which the caller has a role, also in one environment only', async () => {
  const account = await server.account();
  const [, readable, visible] = [await account.project(), await account.project(), await account.project()];
  const caller = await account.actor(
    'MEMBER',
    { projectId: readable.projectId, role: 'VIEWER' },
    { projectId: visible.projectId, environmentName: 'dev', role: 'OPERATOR' },
  );
  const { body } = await caller.get<Page<Project>>('/projects');
  assert.deepEqual(
    body.results.map((project) => project.id),
    [visible.projectId, readable.projectId],
  );
  assert.equal(body.total, 2);
});

test('a project of another account is not found', async () => {
  const [mine, theirs] = [await server.account(), await server.account()];
  const { projectId } = await theirs.project();
  const foreign = requireProblem(await mine.admin.get(`/projects/${projectId}`), 404, 'project-not-found');
  const never = '01890000-0000-7000-8000-000000000000';
  const unknown = requireProblem(await mine.admin.get(`/projects/${never}`), 404, 'project-not-found');
  assert.equal(foreign.detail.replace(projectId, never), unknown.detail);
});

test('an invalid project id in the path is refused', async () => {
  const { admin } = await server.account();
  for (const id of ['x', '01890000-0000-7000-8000-00000000000G', '01890000-0000-7000-8000-00000000000A']) {
    const { violations } = requireProblem(await admin.get(`/projects/${id}`), 400, 'invalid-request');
    assert.match(violations?.[0] ?? '', /^params\.projectId: must be a UUID/);
  }
});

test('every fault of a request is listed with field and pointer', async () => {
  const { admin } = await server.account();
  const refused = await admin.post('/projects', { name: '', warehouse: 'ORACLE', description: 7 });
  const { violations, errors } = requireProblem(refused, 400, 'invalid-request');
  assert.deepEqual(
    new Set(errors?.map((each) => each.pointer)),
    new Set(['/body/name', '/body/warehouse', '/body/description', '/body/agentDeploymentType']),
  );
  assert.ok(violations?.includes('body.agentDeploymentType: is required'));
  assert.ok(
    violations?.includes(
      'body.warehouse: must be one of SNOWFLAKE, REDSHIFT, POSTGRES, DUCKDB, DATABRICKS, BIGQUERY; got "ORACLE"',
    ),
  );
});

test('unknown members are ignored', async () => {
  const { admin } = await server.account();
  const made = await admin.post('/projects?colour=blue', { ...expected, colour: 'blue' });
  assert.equal(made.status, 201);
  assert.equal(made.headers['headgate-warning'], 'query.colour is unknown and was ignored');
});
