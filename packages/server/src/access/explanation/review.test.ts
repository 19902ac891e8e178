/** Who was given what, by whom and until when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessReview, Page } from '@headgate/contract';
import type { Account } from '../../../testing/account.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { signInByLink } from '../../../testing/sign-in.ts';

const server = await startTestServer();

const review = async ({ admin }: Account, query = '') => {
  const answer = await admin.get<Page<AccessReview>>(`/access/reviews?size=100${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};

async function createMember(
  account: Account,
  group: Record<string, unknown>,
  more: Record<string, unknown> = {},
) {
  const user = await account.user();
  const displayName = `g ${server.deps.newId()}`;
  const made = await account.admin.post<{ groupId: string }>('/groups', { displayName, ...group });
  const { groupId } = made.body;
  await account.admin.post(`/groups/${groupId}/members`, { userIds: [user.actorId], ...more });
  return { user, groupId, displayName };
}

test('a review says who was given what, by whom, since when, until when and why', async () => {
  const account = await server.account();
  const project = await account.project();
  const expiresAt = new Date(server.clock.now().getTime() + 3_600_000).toISOString();
  const { user, groupId, displayName } = await createMember(
    account,
    { role: 'OPERATOR', projectId: project.projectId, environmentName: 'prod' },
    { expiresAt, reason: 'on call' },
  );
  const { results, total } = await review(account, `&principalId=${user.actorId}`);
  assert.equal(total, 1);
  const [found] = results;
  assert.ok(found);
  assert.deepEqual([found.name, found.principalType, found.active], [user.userName, 'USER', true]);
  const [grant] = found.grants;
  assert.ok(grant?.addedAt);
  const { addedAt, addedByName, projectName, ...others } = grant;
  assert.deepEqual(others, {
    role: 'OPERATOR',
    level: 'ENVIRONMENT',
    projectId: project.projectId,
    environmentName: 'prod',
    source: 'GROUP',
    groupId,
    groupName: displayName,
    addedBy: account.admin.actorId,
    expiresAt,
    reason: 'on call',
  });
  assert.ok(addedByName && projectName);
  assert.ok(Math.abs(Date.parse(addedAt) - server.clock.now().getTime()) < 60_000);
  server.clock.advance(3_600);
  assert.deepEqual((await review(account, `&principalId=${user.actorId}`)).results[0]?.grants, []);
});

test('it has grants of credentials and creators, also of those who are inactive', async () => {
  const account = await server.account();
  const project = await account.project();
  const made = await account.admin.post<{ credentialId: string }>('/credentials', {
    name: 'program',
    role: 'VIEWER',
    projectId: project.projectId,
  });
  const { user } = await createMember(account, { role: 'ADMIN' });
  await account.admin.patch(`/users/${user.actorId}`, { active: false });
  const { results, total } = await review(account);
  assert.equal(total, results.length);
  assert.deepEqual(
    results.map(({ principalType }) => principalType),
    results.map(({ principalType }) => principalType).toSorted(),
  );
  const find = (id: string) => results.find(({ principalId }) => principalId === id);
  assert.deepEqual(
    find(made.body.credentialId)?.grants.map(({ role, source, addedBy }) => [role, source, addedBy]),
    [
      ['MEMBER', 'CREDENTIAL', undefined],
      ['VIEWER', 'GRANT', account.admin.actorId],
    ],
  );
  assert.equal(find(user.actorId)?.active, false);
  assert.deepEqual(
    find(user.actorId)?.grants.map(({ role }) => role),
    ['ADMIN'],
  );
  const owner = find(account.admin.actorId)?.grants.find(({ role }) => role === 'OWNER');
  assert.deepEqual([owner?.projectId, owner?.addedBy], [project.projectId, account.admin.actorId]);
});

test('a project has only those who were given something there', async () => {
  const account = await server.account();
  const [one, other] = [await account.project(), await account.project()];
  const { user } = await createMember(account, { role: 'VIEWER', projectId: one.projectId });
  const elsewhere = await createMember(account, { role: 'VIEWER', projectId: other.projectId });
  const { results, total } = await review(account, `&projectId=${one.projectId}`);
  assert.deepEqual(
    results.map(({ principalId }) => principalId),
    [account.admin.actorId, user.actorId],
  );
  assert.equal(total, 2);
  assert.ok(results.every(({ grants }) => grants.every(({ projectId }) => projectId === one.projectId)));
  const query = `&projectId=${one.projectId}&principalId=`;
  assert.equal((await review(account, `${query}${user.actorId}`)).total, 1);
  assert.equal((await review(account, `${query}${elsewhere.user.actorId}`)).total, 0);
});

test('pages are complete and each has its own principals', async () => {
  const account = await server.account();
  for (let each = 0; each < 5; each += 1) await account.user('MEMBER');
  const { results: all, total } = await review(account);
  const paged: string[] = [];
  for (let page = 0; page * 2 < total; page += 1) {
    const { body } = await account.admin.get<Page<AccessReview>>(`/access/reviews?page=${page}&size=2`);
    assert.equal(body.total, total);
    paged.push(...body.results.map(({ principalId }) => principalId));
  }
  assert.deepEqual(
    paged,
    all.map(({ principalId }) => principalId),
  );
});

test('the last use is the last sign-in, also after the session ended, or the last token', async () => {
  const account = await server.account();
  const user = await account.user('MEMBER');
  const silent = await account.admin.post<{ userId: string }>('/users', { userName: 'silent@example.com' });
  const readLastUse = async (id: string) =>
    (await review(account, `&principalId=${id}`)).results[0]?.lastUsedAt ?? '';
  assert.equal(await readLastUse(silent.body.userId), '');
  const token = await readLastUse(user.actorId);
  server.clock.advance(3_600);
  const browser = await signInByLink(server.transport, account.admin, user.actorId);
  const signedIn = await readLastUse(user.actorId);
  assert.ok(signedIn > token, `${signedIn} > ${token}`);
  assert.equal((await browser.client.delete('/me/sessions')).status, 204);
  await account.admin.delete(`/users/${user.actorId}/sessions`);
  assert.equal(await readLastUse(user.actorId), signedIn);
});

test('only those who manage users read it, and of their own account', async () => {
  const account = await server.account();
  const stranger = await server.account();
  const project = await account.project();
  for (const user of [await account.user('ADMIN'), await account.user()])
    requireProblem(await user.get('/access/reviews'), 403, 'forbidden');
  requireProblem(
    await stranger.admin.get(`/access/reviews?principalId=${account.admin.actorId}`),
    404,
    'principal-not-found',
  );
  requireProblem(
    await stranger.admin.get(`/access/reviews?projectId=${project.projectId}`),
    404,
    'project-not-found',
  );
  requireProblem(await account.admin.get('/access/reviews?principalId=x'), 400, 'invalid-request');
});

test('of a principal with many grants the response shows some, and how many there are', async () => {
  const account = await server.account();
  const { user } = await createMember(account, { role: 'ADMIN' });
  await server.database.query(
    `
    with made as (
      insert into directory_group (account_id, group_id, display_name, display_name_key, attributes, version, created_at, updated_at)
      select $1, gen_random_uuid(), n::text, n::text, '{}', 1, now(), now() from generate_series(1, 150) n returning group_id),
    given as (insert into directory_role (account_id, group_id, role) select $1, group_id, 'ADMIN' from made)
    insert into directory_member (account_id, group_id, user_id) select $1, group_id, $2 from made`,
    [account.accountId, user.actorId],
  );
  const listed = (await review(account)).results.find(({ principalId }) => principalId === user.actorId);
  assert.deepEqual([listed?.grants.length, listed?.grantsTotal], [100, 151]);
  const [alone] = (await review(account, `&principalId=${user.actorId}`)).results;
  assert.deepEqual([alone?.grants.length, alone?.grantsTotal], [151, 151]);
});
