/** Connector profiles: what was written comes back, and the limits of an account. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { ConnectorProfile } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { buildConnectorProfile } from './connector-profile.examples.ts';

const server = await startTestServer();
const kinds = ['flex', 'custom'] as const;

async function createAccount(kind: 'flex' | 'custom' = 'flex') {
  const account = await server.account();
  const path = `/${kind}-connectors`;
  const list = async (query = '') => (await account.admin.get<ConnectorProfile[]>(path + query)).body;
  return { account, admin: account.admin, path, list };
}

for (const kind of kinds)
  test(`a ${kind} connector is created, read, replaced, listed and deleted`, async () => {
    const { admin, path, list } = await createAccount(kind);
    const made = await admin.post<ConnectorProfile>(path, buildConnectorProfile('Shop: Köln & Co.'));
    assert.equal(made.status, 201, made.text);
    const { id, lastModified } = made.body;
    const shown = { id, alternateId: 'shop-koln-co', ...buildConnectorProfile('Shop: Köln & Co.') };
    const state = { deleted: false, deletedTime: null, lastModified };
    assert.deepEqual(made.body, { ...shown, ...state });
    assert.deepEqual((await admin.get(`${path}/${id}`)).body, made.body);
    assert.deepEqual(await list(), [made.body]);
    const body = { ...buildConnectorProfile('Shop 2'), icon: null };
    const changed = await admin.send<ConnectorProfile>('PUT', `${path}/${id}`, { body });
    assert.deepEqual([changed.status, changed.body.name, changed.body.icon], [200, 'Shop 2', null]);
    assert.equal(changed.body.alternateId, 'shop-koln-co', 'it stays');
    const second = await admin.post<ConnectorProfile>(path, buildConnectorProfile('Second'));
    assert.deepEqual(await list(), [second.body, changed.body], 'newest first');
    assert.equal((await admin.delete(`${path}/${id}`)).status, 204);
    assert.deepEqual(await list(), [second.body]);
    const [, removed] = await list('?includeDeleted=true');
    assert.deepEqual([removed?.id, removed?.deleted], [id, true]);
    assert.equal(removed?.deletedTime, removed?.lastModified);
    requireProblem(await admin.get(`${path}/${id}`), 404, 'connector-profile-not-found');
    requireProblem(await admin.delete(`${path}/${id}`), 404, 'connector-profile-not-found');
    const other = kind === 'flex' ? '/custom-connectors' : '/flex-connectors';
    requireProblem(await admin.get(`${other}/${second.body.id}`), 404, 'connector-profile-not-found');
  });

test('the examples can be stored, and come back as they are', async () => {
  const { admin, path, list } = await createAccount();
  for (const name of ['github', 'stripe', 'salesforce']) {
    const file = new URL(`../../../../../examples/connectors/${name}.json`, import.meta.url);
    const profile = JSON.parse(await readFile(file, 'utf8')) as object;
    const made = await admin.post<ConnectorProfile>(path, profile);
    assert.equal(made.status, 201, made.text);
    const { id, deleted, deletedTime, lastModified, ...rest } = made.body;
    assert.deepEqual(rest, profile, id);
  }
  assert.deepEqual(
    (await list()).map(({ alternateId }) => alternateId),
    ['salesforce', 'stripe', 'github'],
  );
});

test('what a client read can be written again; members of the server in it are ignored', async () => {
  const { admin, path } = await createAccount();
  const { body: first } = await admin.post<ConnectorProfile>(path, buildConnectorProfile('Shop'));
  const { body: again } = await admin.send<ConnectorProfile>('PUT', `${path}/${first.id}`, {
    body: { ...first, deleted: true, deletedTime: first.lastModified },
  });
  assert.deepEqual({ ...again, lastModified: '' }, { ...first, lastModified: '' });
  const other = await createAccount();
  const { body: copy } = await other.admin.post<ConnectorProfile>(other.path, first);
  assert.notEqual(copy.id, first.id);
  assert.equal(copy.alternateId, first.alternateId);
});

test('names are unique among the profiles of a kind that are not deleted', async () => {
  const { admin, path } = await createAccount();
  const build = (name: string, alternateId?: string) => ({ ...buildConnectorProfile(name), alternateId });
  const { body: shop } = await admin.post<ConnectorProfile>(path, build('Shop'));
  const taken = await admin.post(path, build('Shop'));
  assert.match(requireProblem(taken, 409, 'connector-profile-taken').detail, /the name "Shop"/);
  const sameShort = await admin.post<ConnectorProfile>(path, build('shop!'));
  assert.match(sameShort.body.alternateId, /^shop-[0-9a-f]{12}$/, 'a made name gives way');
  const short = await admin.post(path, build('Another', 'shop'));
  assert.match(requireProblem(short, 409, 'connector-profile-taken').detail, /the alternateId "shop"/);
  assert.equal((await admin.post('/custom-connectors', build('Shop', 'shop'))).status, 201);
  await admin.delete(`${path}/${shop.id}`);
  assert.equal((await admin.post(path, build('Shop', 'shop'))).status, 201);
});

test('the alternateId of a profile cannot be changed', async () => {
  const { admin, path } = await createAccount();
  const { body } = await admin.post<ConnectorProfile>(path, buildConnectorProfile('Shop'));
  const answer = await admin.send('PUT', `${path}/${body.id}`, { body: { ...body, alternateId: 'store' } });
  const { detail } = requireProblem(answer, 422, 'connector-profile-invalid');
  assert.match(detail, /^body\.alternateId: is "store", and that of the profile is "shop"/);
  for (const alternateId of ['Shop', '-shop', 'a b', 'ä', '', 'x'.repeat(65)])
    requireProblem(
      await admin.post(path, { ...buildConnectorProfile('Next'), alternateId }),
      400,
      'invalid-request',
    );
});

test('a replacement with an old ETag is refused', async () => {
  const { admin, path } = await createAccount();
  const { body, etag } = await admin.post<ConnectorProfile>(path, buildConnectorProfile('Shop'));
  const one = `${path}/${body.id}`;
  await admin.send('PUT', one, { body: buildConnectorProfile('Shop 2') });
  const headers = { 'if-match': etag };
  const late = await admin.send('PUT', one, { body: buildConnectorProfile('Shop 3'), headers });
  requireProblem(late, 412, 'etag-mismatch');
  requireProblem(await admin.delete(one, { headers }), 412, 'etag-mismatch');
});

test('the size of a profile, and of all of a kind together, is limited', async () => {
  const { admin, path, list } = await createAccount();
  const build = (name: string, bytes: number) => ({ name, endpoints: [], note: 'x'.repeat(bytes) });
  for (const bytes of [1_048_576, 5 * 1_048_576]) {
    const large = await admin.post(path, build('Large', bytes));
    const { detail } = requireProblem(large, 413, 'body-too-large');
    assert.match(detail, /a connector profile has at most 1048576 bytes as JSON; it has \d+/);
  }
  const { body: last } = await admin.post<ConnectorProfile>(path, build('last', 1_000));
  // As large as 15 profiles, without their content.
  await server.database.query('update connector_profile set bytes = $1 where profile_id = $2', [
    16 * 1_048_576 - 500,
    last.id,
  ]);
  requireProblem(await admin.post(path, build('over', 1_000)), 409, 'too-many-connector-profiles');
  assert.equal((await list()).length, 1, 'a refused profile changes nothing');
  await admin.delete(`${path}/${last.id}`);
  assert.equal((await list('?includeDeleted=true')).length, 1);
  assert.equal((await admin.post(path, build('over', 1_000))).status, 201);
  assert.deepEqual(
    (await list('?includeDeleted=true')).map(({ name }) => name),
    ['over'],
    'the deleted one gave way',
  );
});

test('events name the profile and show its endpoints, not its schemas', async () => {
  const { admin, path } = await createAccount();
  const { body } = await admin.post<ConnectorProfile>(path, buildConnectorProfile('Shop'));
  await admin.delete(`${path}/${body.id}`);
  const from = new Date(Date.now() - 86_400_000 * 365).toISOString();
  const query = `?from=${from}&to=${new Date(Date.now() + 86_400_000 * 365).toISOString()}&eventSubjectId=${body.id}`;
  const { results } = (await admin.get<{ results: Record<string, unknown>[] }>(`/events${query}`)).body;
  const ofProfile = results.filter(({ eventSubjectId }) => eventSubjectId === body.id);
  assert.deepEqual(
    ofProfile.map(({ eventName, eventSubjectName }) => [eventName, eventSubjectName]),
    [
      ['connector-profile-deleted', 'Shop'],
      ['connector-profile-created', 'Shop'],
    ],
  );
  assert.match(JSON.stringify(ofProfile), /"url":"https:\/\/api\.example\.com/);
  assert.doesNotMatch(JSON.stringify(ofProfile), /repeatingElementPath/);
});
