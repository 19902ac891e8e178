/** Groups, by the requests that RFC 7644 and the directories document. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ScimGroup, scimUrns } from '@headgate/contract';
import { createDirectoryClient, memberIds, requireScimError } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const account = await server.account();
const directory = createDirectoryClient(await account.actor('DIRECTORY'));
const owner = createDirectoryClient(account.admin);

const ids: string[] = [];
for (const name of ['a', 'b', 'c', 'd']) ids.push((await owner.createUser(`${name}@group.example`)).id);
const [a, b, c, d] = ids as [string, string, string, string];
const unknown = '00000000-0000-7000-8000-000000000001';

test('a group shows its account and members, and its users show the group', async () => {
  const group = await directory.createGroup('Shown', {
    externalId: 'g1',
    members: [{ value: a, type: 'user' }],
  });
  assert.deepEqual([group.accountId, group.externalId], [account.accountId, 'g1']);
  const [member] = group.members ?? [];
  assert.deepEqual([member?.value, member?.display, member?.type], [a, 'a@group.example', 'USER']);
  assert.ok(member?.$ref?.endsWith(`/Users/${a}`) && member.ref === member.$ref);
  const [link] = (await directory.user(a)).groups ?? [];
  assert.deepEqual([link?.value, link?.display, link?.type], [group.id, 'Shown', 'DIRECT']);
  requireScimError(await directory.send('POST', '/Groups', { displayName: 'SHOWN' }), 409, 'uniqueness');
  const found = await directory.send<{ Resources: ScimGroup[] }>(
    'GET',
    `/Groups?filter=${encodeURIComponent('displayName eq "shown"')}&excludedAttributes=members`,
  );
  assert.deepEqual([found.body.Resources.length, found.body.Resources[0]?.members], [1, undefined]);
});

test('a list shows members as the group alone does, whole and in parts', async () => {
  const name = 'Zoë "the\\quoted" \u2028 😀';
  const { id: user } = await owner.createUser('quoted@group.example', { displayName: name });
  const { id } = await directory.createGroup('Listed', { members: [{ value: user }, { value: a }] });
  const filter = `filter=${encodeURIComponent('displayName eq "listed"')}`;
  const read = async (query = '') => {
    const one = (await directory.send<ScimGroup>('GET', `/Groups/${id}?${query}`)).body;
    const list = await directory.send<{ Resources: ScimGroup[] }>('GET', `/Groups?${filter}&${query}`);
    assert.deepEqual(list.body.Resources, [one]);
    return one;
  };
  const whole = await read();
  assert.deepEqual(
    whole.members?.map(({ value, display }) => [value, display]),
    [
      [user, name],
      [a, 'a@group.example'],
    ].toSorted(),
  );
  assert.deepEqual((await read('attributes=members')).members, whole.members);
  assert.deepEqual(
    (await read('attributes=members.value')).members,
    whole.members?.map(({ value }) => ({ value })),
  );
  const withoutDisplay = (await read('excludedAttributes=members.display')).members;
  assert.deepEqual(
    withoutDisplay,
    whole.members?.map(({ display: _, ...rest }) => rest),
  );
  assert.equal((await read('excludedAttributes=members')).members, undefined);
  await directory.patchGroup(id, { op: 'remove', path: 'members' });
  assert.deepEqual((await read()).members, []);
});

test('members are patched in every documented form', async () => {
  const { id } = await directory.createGroup('Forms');
  const apply = async (operation: object) => memberIds((await directory.patchGroup(id, operation)).body);
  const all = (...members: string[]) => members.toSorted();
  const forms: [string, object, string[]][] = [
    ['Entra adds', { op: 'Add', path: 'members', value: [{ $ref: null, value: a }] }, [a]],
    [
      'present members are no error',
      { op: 'add', path: 'members', value: [{ value: a }, { value: b }] },
      [a, b],
    ],
    ['without path', { op: 'add', value: { members: [{ value: c }] } }, [a, b, c]],
    ['one object', { op: 'ADD', path: 'members', value: { value: d } }, [a, b, c, d]],
    ['Okta removes by filter', { op: 'remove', path: `members[value eq "${a}"]` }, [b, c, d]],
    ['Entra removes by list', { op: 'Remove', path: 'members', value: [{ value: b }] }, [c, d]],
    ['a filter by display', { op: 'remove', path: 'members[display sw "c@"]' }, [d]],
    [
      'JSON text',
      { op: 'add', path: 'members', value: JSON.stringify([{ value: a }, { value: b }]) },
      [a, b, d],
    ],
    ['replace', { op: 'replace', path: 'members', value: [{ value: b }, { value: c }] }, [b, c]],
    ['Okta renames with the id', { op: 'replace', value: { id, displayName: 'Forms 2' } }, [b, c]],
    ['a qualified name', { op: 'add', path: `${scimUrns.group}:members`, value: [{ value: a }] }, [a, b, c]],
    ['two by a filter', { op: 'remove', path: `members[value eq "${a}" or value eq "${b}"]` }, [c]],
    ['a stranger is no error', { op: 'remove', path: `members[value eq "${unknown}"]` }, [c]],
    ['ids as text', { op: 'add', path: 'members', value: [a] }, [a, c]],
    ['all', { op: 'remove', path: 'members' }, []],
  ];
  for (const [what, operation, expected] of forms)
    assert.deepEqual(await apply(operation), all(...expected), what);
  assert.equal((await directory.group(id)).displayName, 'Forms 2');
  const before = (await directory.patchGroup(id, { op: 'add', path: 'members', value: [{ value: a }] })).body
    .meta;
  const again = (await directory.patchGroup(id, { op: 'add', path: 'members', value: [{ value: a }] })).body
    .meta;
  assert.deepEqual(again, before, 'adding a present member changes nothing');
});

test('operations of one PATCH follow each other, and a wrong one undoes all', async () => {
  const { id } = await directory.createGroup('Order', { members: [{ value: a }] });
  const patched = await directory.patchGroup(
    id,
    { op: 'add', path: 'members', value: [{ value: b }, { value: c }] },
    { op: 'remove', path: `members[value eq "${b}"]` },
    { op: 'replace', path: 'members', value: [{ value: d }] },
    { op: 'add', path: 'members', value: [{ value: a }] },
  );
  assert.deepEqual(memberIds(patched.body), [a, d].toSorted());
  const wrong: [object, Parameters<typeof requireScimError>[2]][] = [
    [{ op: 'add', path: 'members', value: [{ value: unknown }] }, 'invalidValue'],
    [{ op: 'add', path: 'members', value: [{ value: 'no-uuid' }] }, 'invalidValue'],
    [{ op: 'add', path: 'members', value: [{ display: 'x' }] }, 'invalidValue'],
    [{ op: 'add', path: 'members', value: [{ value: b, type: 'Group' }] }, 'invalidValue'],
    [{ op: 'remove', path: 'members[nothing eq "x"]' }, 'invalidFilter'],
    [{ op: 'replace', path: 'members[value eq "x"].display', value: 'x' }, 'mutability'],
    [{ op: 'replace', path: 'accountId', value: 'x' }, 'mutability'],
    [{ op: 'remove', path: 'displayName' }, 'mutability'],
  ];
  for (const [operation, scimType] of wrong) {
    const answer = await directory.patchGroup(id, { op: 'remove', path: 'members' }, operation);
    requireScimError(answer, 400, scimType);
  }
  assert.deepEqual(await directory.group(id), patched.body);
});

test('PUT replaces members and keeps what the group gives', async () => {
  const project = await account.project();
  const input = { role: 'viewer', projectId: project.projectId };
  const { id } = await owner.createGroup('Put', { ...input, members: [{ value: a }] });
  const put = await directory.send<ScimGroup>('PUT', `/Groups/${id}`, {
    displayName: 'Put 2',
    members: [{ value: b }],
  });
  assert.deepEqual(
    [put.body.displayName, memberIds(put.body), put.body.role, put.body.projectId],
    ['Put 2', [b], 'VIEWER', project.projectId],
  );
  assert.ok(put.body.projectName);
});

test('a role is one of its place, and ends with its place', async () => {
  const project = await account.project();
  const at = { projectId: project.projectId };
  const wrong = [
    { role: 'OWNER' },
    { role: 'ADMIN', ...at },
    { role: 'OPERATOR', ...at },
    { role: 'DIRECTORY' },
    { role: 'OWNER', projectId: unknown },
    { role: 'OWNER', projectName: 'none' },
    { role: 'OWNER', ...at, environment: 'none' },
    { role: 'OWNER', environment: 'dev' },
  ];
  for (const [index, input] of wrong.entries()) {
    const answer = await owner.send('POST', '/Groups', { displayName: `Wrong ${index}`, ...input });
    requireScimError(answer, 400, 'invalidValue');
  }
  const { id } = await owner.createGroup('Place', { ...at, role: 'Operator', environment: 'dev' });
  const roles = () =>
    server.database.query('select role, environment_name from directory_role where group_id = $1', [id]);
  assert.deepEqual(await roles(), [{ role: 'OPERATOR', environment_name: 'dev' }]);
  await owner.patchGroup(id, { op: 'replace', path: 'role', value: 'OWNER' });
  assert.deepEqual(await roles(), [{ role: 'OWNER', environment_name: 'dev' }]);
  await account.admin.delete(`${project.path}/environments/dev?confirm=true`);
  assert.deepEqual(await roles(), []);
  assert.equal((await owner.group(id)).environment, 'dev', 'the group stays as it was written');
  const renamed = await directory.patchGroup(id, { op: 'replace', path: 'displayName', value: 'Place 2' });
  assert.equal(renamed.status, 200);
});

test('a group shows the present name of its project, not that of another one', async () => {
  const project = await account.project();
  const { name } = (await account.admin.get<{ name: string }>(project.path)).body;
  const { id } = await owner.createGroup('Of a project', { role: 'VIEWER', projectName: name });
  await account.admin.patch(project.path, { name: 'New name' });
  await account.admin.post('/projects', { name, agentDeploymentType: 'HYBRID' });
  const { projectId, projectName } = await owner.group(id);
  assert.deepEqual([projectId, projectName], [project.projectId, 'New name']);
  assert.equal((await owner.find('Groups', `projectName eq "${name}"`)).totalResults, 0);
  const written = await directory.send('PUT', `/Groups/${id}`, { displayName: 'Of a project' });
  assert.equal(written.status, 200);
});
