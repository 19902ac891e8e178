/** Groups that a real OpenID provider names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account } from '../../../testing/account.ts';
import { createIssuerScenes } from '../../../testing/issuer-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' } });
const { createScene, signIn } = createIssuerScenes(server);

async function createClaimScene(more: Record<string, unknown> = {}, existing?: Account) {
  const settings = { userClaim: 'preferred_username', groupsClaim: 'groups', ...more };
  const scene = await createScene(settings, existing);
  const { account, issuer } = scene;
  const ada = await account.user('MEMBER');
  const person = { sub: 'ada', preferred_username: ada.userName };
  const createGroup = async (displayName: string, role?: string): Promise<string> => {
    const { body } = await account.admin.post<{ groupId: string }>('/groups', { displayName, role });
    return body.groupId;
  };
  const enter = async (groups: unknown, others: Record<string, unknown> = {}) => {
    issuer.person = { ...person, ...(groups === undefined ? {} : { groups }), ...others };
    return (await signIn(scene)).answer;
  };
  /** The groups of the user after signing in, without that of its role. */
  const follow = async (groups: unknown): Promise<string[]> => {
    const answer = await enter(groups);
    assert.equal(answer.status, 303, answer.text);
    return listGroups();
  };
  const listGroups = async () => {
    const { body } = await account.admin.get<{ results: { displayName: string }[] }>(
      `/users/${ada.actorId}/groups`,
    );
    return body.results.map(({ displayName }) => displayName).filter((name) => !name.startsWith('group '));
  };
  const readEvents = async (name: string): Promise<{ after: unknown; actorId: string }[]> => {
    const path = `/events?after=oldest&limit=100&eventName=${name}`;
    return (await account.admin.get<{ results: { after: unknown; actorId: string }[] }>(path)).body.results;
  };
  return { ...scene, ada, createGroup, enter, follow, listGroups, readEvents };
}

test('a user joins the groups that the claim names, and leaves those that an earlier sign-in gave', async () => {
  const { account, ada, createGroup, follow, readEvents } = await createClaimScene();
  const [admins, byHand] = [await createGroup('Admins', 'ADMIN'), await createGroup('By hand')];
  await createGroup('Readers');
  await account.admin.post(`/groups/${byHand}/members`, { userIds: [ada.actorId] });
  assert.deepEqual(await follow(['Admins', 'Readers', 'Nothing of ours']), ['Admins', 'By hand', 'Readers']);
  assert.equal((await ada.get('/me')).status, 200);
  const changes = await readEvents('group-members-changed');
  assert.ok(changes.some(({ actorId }) => actorId === ada.actorId));
  const before = changes.length;
  assert.deepEqual(await follow(['Readers', 'Admins', 'Admins']), ['Admins', 'By hand', 'Readers']);
  assert.equal((await readEvents('group-members-changed')).length, before, 'nothing changed');
  assert.deepEqual(await follow('Readers'), ['By hand', 'Readers']);
  assert.deepEqual(await follow(undefined), ['By hand']);
  // What is also given by hand stays.
  await follow(['Admins']);
  await account.admin.post(`/groups/${admins}/members`, { userIds: [ada.actorId] });
  assert.deepEqual(await follow([]), ['Admins', 'By hand']);
  assert.deepEqual(await follow(['By hand']), ['Admins', 'By hand']);
  assert.deepEqual(await follow([]), ['Admins', 'By hand']);
});

test('a sign-in at one issuer takes nothing that another gave; a deleted issuer leaves the groups', async () => {
  const first = await createClaimScene();
  const { account, ada, createGroup, follow, listGroups } = first;
  await createGroup('Readers');
  assert.deepEqual(await follow(['Readers']), ['Readers']);
  const second = await createScene(
    { name: 'Other login', userClaim: 'preferred_username', groupsClaim: 'groups' },
    account,
  );
  second.issuer.person = { sub: 'ada', preferred_username: ada.userName, groups: [] };
  assert.equal((await signIn(second)).answer.status, 303);
  assert.deepEqual(await listGroups(), ['Readers']);
  assert.equal((await account.admin.delete(first.path)).status, 204);
  assert.deepEqual(await listGroups(), ['Readers']);
});

test('a name counts only as it is written', async () => {
  const { createGroup, follow } = await createClaimScene();
  await createGroup('Kitchen', 'ADMIN');
  const kelvin = '\u212aitchen';
  assert.deepEqual(await follow(['kitchen', 'KITCHEN', kelvin, 'Kitchen ', "Kitchen' or true --", '%']), []);
  assert.deepEqual(await follow(['Kitchen']), ['Kitchen']);
});

test('a sign-in never gives SUPER_ADMIN, and the refusal is an event', async () => {
  const { account, ada, createGroup, follow, readEvents } = await createClaimScene();
  const root = await createGroup('Root', 'SUPER_ADMIN');
  assert.deepEqual(await follow(['Root']), []);
  assert.match(
    JSON.stringify(await readEvents('group-claim-refused')),
    /Root.*never gives the role SUPER_ADMIN/,
  );
  // The role came after the membership: it is taken again, but never from the last Super Admin.
  const later = await createGroup('Later', 'MEMBER');
  assert.deepEqual(await follow(['Later']), ['Later']);
  await account.admin.patch(`/groups/${later}`, { role: 'SUPER_ADMIN' });
  assert.deepEqual(await follow([]), ['Later']);
  assert.match(
    JSON.stringify(await readEvents('group-claim-refused')),
    /Later.*no active user in a group that gives SUPER_ADMIN/,
  );
  const other = await account.user();
  await account.admin.post(`/groups/${root}/members`, { userIds: [other.actorId] });
  assert.deepEqual(await follow([]), []);
  assert.notEqual(ada.actorId, other.actorId);
});

test('a protected group that gives a role is not emptied', async () => {
  const { account, createGroup, follow, readEvents } = await createClaimScene();
  await createGroup('Admins', 'ADMIN');
  assert.deepEqual(await follow(['Admins']), ['Admins']);
  const settings = await account.admin.patch('/directory-integration/settings', { protectRoleGroups: true });
  assert.ok(settings.status < 300, settings.text);
  assert.deepEqual(await follow([]), ['Admins']);
  assert.match(JSON.stringify(await readEvents('group-claim-refused')), /Admins/);
});

test('with a directory, signing in changes no groups', async () => {
  const { account, createGroup, follow, enter } = await createClaimScene();
  await createGroup('Readers');
  await createGroup('Writers');
  assert.deepEqual(await follow(['Readers']), ['Readers']);
  const { body } = await account.admin.post<{ credentialId: string }>('/credentials', {
    name: 'directory',
    role: 'DIRECTORY',
  });
  assert.deepEqual(await follow(['Writers']), ['Readers']);
  assert.equal((await enter({ odd: true })).status, 303, 'the claim is not read');
  await account.admin.delete(`/credentials/${body.credentialId}`);
  assert.deepEqual(await follow(['Writers']), ['Writers']);
});

test('a claim in another form refuses the sign-in and changes nothing', async () => {
  const { createGroup, follow, enter, listGroups, readEvents } = await createClaimScene();
  await createGroup('Readers');
  assert.deepEqual(await follow(['Readers']), ['Readers']);
  const many = Array.from({ length: 201 }, (_, index) => `g${index}`);
  for (const hostile of [
    many,
    [1],
    { Readers: true },
    [['Readers']],
    null,
    true,
    ['x'.repeat(256)],
    ['a\u0000b'],
    ['\ud800'],
    [''],
    '',
  ]) {
    const answer = await enter(hostile);
    assert.equal(answer.status, 403, JSON.stringify(hostile).slice(0, 50));
    assert.match(answer.text, /usable claim groups/);
  }
  const elsewhere = await enter(undefined, { _claim_names: { groups: 'src1' } });
  assert.match(elsewhere.text, /only where to ask for it/);
  assert.equal(elsewhere.status, 403);
  assert.deepEqual(await listGroups(), ['Readers']);
  assert.ok((await readEvents('sign-in-refused')).length >= 12);
  assert.deepEqual(await follow(many.slice(1)), [], '200 are read');
});
