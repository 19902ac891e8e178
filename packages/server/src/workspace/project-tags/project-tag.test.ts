import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, ProjectTag, TaggedProject } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  return { account, id: made.projectId, admin: account.admin, path: `${made.path}/tags` };
}

test('a tag is created, read, changed, listed and deleted', async () => {
  const { admin, path } = await createProject();
  const made = await admin.post<ProjectTag>(path, { name: 'team', value: 'sales' });
  assert.equal(made.status, 201);
  const { id } = made.body;
  assert.deepEqual(made.body, { id, name: 'team', value: 'sales' });
  const changed = { id, name: 'team', value: 'finance' };
  assert.deepEqual((await admin.patch(`${path}/team`, { value: 'finance' })).body, changed);
  assert.deepEqual((await admin.get(`${path}/team`)).body, changed);
  await admin.post(path, { name: 'cost-center', value: '4711' });
  const { results, total } = (await admin.get<Page<ProjectTag>>(path)).body;
  assert.deepEqual([results.map(({ name }) => name), total], [['cost-center', 'team'], 2]);
  assert.equal((await admin.delete(`${path}/team`)).status, 204);
  requireProblem(await admin.get(`${path}/team`), 404, 'project-tag-not-found');
});

test('a project has one tag of a name, and names are validated', async () => {
  const { admin, path } = await createProject();
  assert.equal((await admin.post(path, { name: 'team', value: 'sales' })).status, 201);
  requireProblem(await admin.post(path, { name: 'team', value: 'x' }), 409, 'project-tag-name-taken');
  requireProblem(await admin.post(path, { name: 'the team', value: 'x' }), 400, 'invalid-request');
  const other = await createProject();
  assert.equal((await other.admin.post(other.path, { name: 'team', value: 'sales' })).status, 201);
});

test('a tag that has changed is not deleted with an old ETag', async () => {
  const { admin, path } = await createProject();
  const { etag } = await admin.post(path, { name: 'team', value: 'sales' });
  await admin.patch(`${path}/team`, { value: 'finance' });
  const headers = { 'if-match': etag };
  requireProblem(await admin.delete(`${path}/team`, { headers }), 412, 'etag-mismatch');
});

test('projects are found by a tag, and only those in which the caller has a project role', async () => {
  const { account, admin, id, path } = await createProject();
  const other = await account.project();
  const stranger = await createProject();
  await admin.post(path, { name: 'team', value: 'sales' });
  await admin.post(`${other.path}/tags`, { name: 'team', value: 'finance' });
  await stranger.admin.post(stranger.path, { name: 'team', value: 'sales' });
  const findProjects = async (actor: typeof admin, query: string) =>
    (await actor.get<Page<TaggedProject>>(`/project-tags?${query}`)).body;
  const all = await findProjects(admin, 'name=team');
  assert.deepEqual(
    all.results.map(({ projectId, value }) => [projectId, value]),
    [
      [other.projectId, 'finance'],
      [id, 'sales'],
    ],
  );
  assert.deepEqual([(await findProjects(admin, 'name=team&value=sales')).total, all.total], [1, 2]);
  const viewer = await account.actor('MEMBER', { projectId: id, role: 'VIEWER' });
  const operator = await account.actor('MEMBER', { projectId: id, environmentName: 'dev', role: 'OPERATOR' });
  assert.deepEqual(
    (await findProjects(viewer, 'name=team')).results.map(({ projectId }) => projectId),
    [id],
  );
  assert.equal((await findProjects(operator, 'name=team')).total, 0);
});
