/** Users, by the requests that RFC 7644 and the directories document. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ScimUser, scimUrns } from '@headgate/contract';
import { createDirectoryClient, requireScimError } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const account = await server.account();
const directory = createDirectoryClient(await account.actor('DIRECTORY'));
const enterprise = scimUrns.enterpriseUser;

test('a user has its whole schema, without the password, and the same version as ETag', async () => {
  const made = await directory.send<ScimUser>('POST', '/Users', {
    schemas: [scimUrns.user, enterprise],
    id: 'mine',
    USERNAME: 'Barbara@example.com',
    externalId: 'b-1',
    password: 'never stored',
    name: { familyName: 'Jensen', givenName: 'Barbara' },
    emails: [{ value: 'b@example.com', type: 'work', primary: 'True' }],
    active: 'True',
    groups: [{ value: 'x' }],
    unknownAttribute: 1,
    [enterprise]: { department: 'Tours', manager: '26118915' },
  });
  assert.equal(made.status, 201);
  const user = made.body;
  assert.equal(made.headers.location, user.meta?.location);
  assert.equal(made.etag, user.meta?.version);
  assert.match(made.headers['content-type'] ?? '', /^application\/scim\+json/);
  assert.deepEqual(
    [user.userName, user.active, user.emails, user.groups, user[enterprise]],
    [
      'Barbara@example.com',
      true,
      [{ value: 'b@example.com', type: 'work', primary: true }],
      [],
      { department: 'Tours', manager: { value: '26118915' } },
    ],
  );
  assert.ok(!made.text.includes('never stored') && !made.text.includes('unknownAttribute'));
  const stored = await server.database.query(
    "select 1 from directory_user u where u::text like '%never stored%'",
  );
  assert.equal(stored.length, 0);
  const unchanged = await directory.send('GET', `/Users/${user.id}`, undefined, {
    'if-none-match': made.etag,
  });
  assert.equal(unchanged.status, 304);
});

test('null is unassigned, also in the extension', async () => {
  const made = await directory.createUser('unassigned@example.com', {
    title: null,
    [enterprise]: { department: null, manager: { value: null } },
  });
  assert.ok(!('title' in made) && !(enterprise in made), JSON.stringify(made));
  assert.deepEqual(made.schemas, [scimUrns.user]);
  const replaced = await directory.send<ScimUser>('PUT', `/Users/${made.id}`, {
    userName: 'unassigned@example.com',
    [enterprise]: { department: null, division: 'North' },
  });
  assert.deepEqual(replaced.body[enterprise], { division: 'North' });
});

test('attributes of the core schema may be below its URN', async () => {
  const made = await directory.send<ScimUser>('POST', '/Users', {
    schemas: [scimUrns.user],
    [scimUrns.user.toUpperCase()]: { userName: 'below@example.com', name: { givenName: 'Be' } },
  });
  assert.deepEqual(
    [made.status, made.body.userName, made.body.name],
    [201, 'below@example.com', { givenName: 'Be' }],
  );
  requireScimError(
    await directory.send('POST', '/Users', { userName: 'x', [scimUrns.user]: ['title'] }),
    400,
    'invalidValue',
  );
});

test('a userName in other case is taken', async () => {
  await directory.createUser('Case@Example.com');
  const again = await directory.send('POST', '/Users', { userName: 'cASE@example.COM' });
  requireScimError(again, 409, 'uniqueness');
  const other = await directory.createUser('other@example.com');
  const renamed = await directory.patchUser(other.id, {
    op: 'replace',
    path: 'userName',
    value: 'CASE@example.com',
  });
  requireScimError(renamed, 409, 'uniqueness');
  assert.equal((await directory.user(other.id)).userName, 'other@example.com');
});

test('PUT replaces the attributes, keeps `active`, and honours If-Match', async () => {
  const { id, meta } = await directory.createUser('put@example.com', { title: 'Guide', active: false });
  const put = (version: string) =>
    directory.send<ScimUser>(
      'PUT',
      `/Users/${id}`,
      { userName: 'put@example.com', nickName: 'P' },
      { 'if-match': version },
    );
  requireScimError(await put('"9-000000000000"'), 412);
  const { body } = await put(meta?.version ?? '');
  assert.deepEqual([body.title, body.nickName, body.active], [undefined, 'P', false]);
  requireScimError(await directory.send('PUT', `/Users/${id}`, { nickName: 'x' }), 400, 'invalidValue');
});

test('a list is filtered, sorted, paged by index and projected', async () => {
  const other = createDirectoryClient((await server.account()).admin);
  for (const [name, title] of [
    ['a', 'Guide'],
    ['b', 'Guide'],
    ['c', 'Cook'],
    ['d', undefined],
  ] as const)
    await other.createUser(`${name}@list.example`, {
      title,
      emails: [
        { type: 'work', value: `${name}@work.example` },
        { type: 'home', value: 'x@home.example' },
      ],
    });
  const names = async (filter: string) =>
    (await other.find('Users', filter)).Resources.map(({ userName }) => userName?.charAt(0)).join('');
  const cases: [string, string][] = [
    ['userName eq "A@LIST.example"', 'a'],
    ['title eq "guide"', 'ab'],
    ['title pr', 'abc'],
    ['not (title pr)', 'd'],
    ['title ne "Guide"', 'cd'],
    ['emails[type eq "work" and value sw "b"]', 'b'],
    ['emails[type eq "work"].value eq "c@work.example"', 'c'],
    ['emails[type eq "home"].value eq "c@work.example"', ''],
    ['emails.value co "@HOME"', 'abcd'],
    ['emails eq "d@work.example"', 'd'],
    [`${scimUrns.user}:userName sw "a" or (userName sw "b" and active eq true)`, 'ab'],
    ['meta.lastModified gt "2011-05-13T04:42:34Z" and userName ew "LIST.example"', 'abcd'],
    [`schemas eq "${scimUrns.user}"`, 'abcd'],
    ['id eq "nothing"', ''],
    [`userName eq "' or true --"`, ''],
    [`${enterprise}:manager.$ref pr`, ''],
    ['groups.value eq "x"', ''],
  ];
  for (const [filter, found] of cases) assert.equal(await names(filter), found, filter);
  const page = await other.send<{ totalResults: number; startIndex: number; Resources: ScimUser[] }>(
    'GET',
    '/Users?sortBy=title&sortOrder=descending&startIndex=2&count=2&attributes=title,userName',
  );
  assert.deepEqual([page.body.totalResults, page.body.startIndex], [4, 2]);
  assert.deepEqual(
    page.body.Resources.map(({ title }) => title),
    ['Guide', 'Guide'],
  );
  assert.deepEqual(Object.keys(page.body.Resources[0] ?? {}).toSorted(), [
    'id',
    'schemas',
    'title',
    'userName',
  ]);
  const searched = await other.send<{ totalResults: number; Resources: ScimUser[] }>('POST', '/.search', {
    schemas: [scimUrns.search],
    filter: 'title eq "Cook"',
    excludedAttributes: ['emails', 'meta'],
  });
  assert.deepEqual([searched.body.totalResults, searched.body.Resources[0]?.emails], [1, undefined]);
  const selected = await other.send<{ Resources: ScimUser[] }>(
    'GET',
    `/Users?filter=title%20eq%20%22Cook%22&attributes=${encodeURIComponent('emails[type eq "work"]')}`,
  );
  assert.deepEqual(
    selected.body.Resources[0]?.emails?.map(({ value }) => value),
    ['c@work.example', 'x@home.example'],
  );
  const none = await other.send<{ Resources: unknown[]; totalResults: number }>(
    'GET',
    '/Users?count=0&startIndex=-3',
  );
  assert.deepEqual([none.body.totalResults, none.body.Resources], [4, []]);
});

test('a bad filter is refused with its scimType, never with a 500', async () => {
  const deep = `${'('.repeat(5_000)}userName pr${')'.repeat(5_000)}`;
  const filters = [
    'userName',
    'userName eq',
    'userName xx "a"',
    'password eq "a"',
    'noSuchThing eq "a"',
    'active gt true',
    'active eq "maybe"',
    'meta.created gt "yesterday"',
    'userName eq "a" and',
    `userName eq "a"; drop table directory_user`,
    '(((userName pr)',
    'title gt null',
    'name[',
    `${'not '.repeat(400)}(userName pr)`,
    deep.slice(0, 7_000),
    Array.from({ length: 300 }, () => 'title pr').join(' or '),
  ];
  for (const filter of filters) {
    const answer = await directory.send('POST', '/Users/.search', { schemas: [scimUrns.search], filter });
    requireScimError(answer, 400, 'invalidFilter');
  }
  const inQuery = await directory.send('GET', `/Users?filter=${'('.repeat(8_100)}`);
  requireScimError(inQuery, 400, 'invalidFilter');
  const long = await directory.send('POST', '/Users/.search', {
    filter: `userName eq "${'a'.repeat(20_000)}"`,
  });
  requireScimError(long, 400, 'invalidFilter');
});

test('errors are those of SCIM, unless the client accepts only other JSON', async () => {
  const nobody = (accept?: string) =>
    account.admin.get('/directory-integration/scim/v2/Users/nobody', {
      headers: accept === undefined ? {} : { accept },
    });
  for (const accept of [undefined, '*/*', 'application/*', 'application/json, application/scim+json'])
    requireScimError(await nobody(accept), 404);
  requireScimError(await nobody('text/plain'), 406);
  for (const accept of ['application/json', 'Application/Problem+JSON', 'application/json;q=0.5, */*'])
    assert.equal((await nobody(accept)).problem.code, 'user-not-found', accept);
  requireScimError(await directory.send('GET', '/Users/nobody'), 404);
  requireScimError(await directory.send('POST', '/Users', '{"userName": '), 400, 'invalidSyntax');
  requireScimError(await directory.send('POST', '/Users', '[]'), 400, 'invalidSyntax');
  requireScimError(
    await directory.send('POST', '/Users', { schemas: ['urn:scim:schemas:core:1.0'], userName: 'x' }),
    400,
    'invalidSyntax',
  );
  requireScimError(
    await directory.send('POST', '/Users', { userName: 7.5, displayName: ['a'] }),
    400,
    'invalidValue',
  );
  const noNumber = await directory.send('GET', '/Users?startIndex=x');
  requireScimError(noNumber, 400, 'invalidValue');
  assert.match(noNumber.text, /"The request is invalid: query\.startIndex must be/);
  requireScimError(await directory.send('GET', '/Nothing'), 404);
  const json = await account.admin.get<ScimUser>('/directory-integration/scim/v2/Users?count=1', {
    headers: { accept: 'application/json' },
  });
  assert.match(json.headers['content-type'] ?? '', /^application\/json/);
});

test('a slash at the end of a path changes nothing', async () => {
  const made = await directory.send<ScimUser>('POST', '/Users/', { userName: 'slash@example.com' });
  assert.equal(made.status, 201);
  const path = `/Users/${made.body.id}/`;
  assert.equal((await directory.send<ScimUser>('GET', path)).body.id, made.body.id);
  const found = await directory.send<{ totalResults: number }>(
    'GET',
    `/Users/?filter=${encodeURIComponent('userName eq "slash@example.com"')}`,
  );
  assert.equal(found.body.totalResults, 1);
  requireScimError(await directory.send('POST', path, {}), 405);
  requireScimError(await directory.send('GET', '/'), 404);
  requireScimError(await directory.send('GET', ''), 404);
  assert.equal((await directory.send('DELETE', path)).status, 204);
  assert.equal((await account.admin.get('/projects/')).status, 400);
});

test('a deleted user is gone, from its groups too, and its events keep the name', async () => {
  const { id } = await directory.createUser('gone@example.com');
  const group = await directory.createGroup('of the gone', { members: [{ value: id }] });
  const deleted = await directory.send('DELETE', `/Users/${id}`);
  assert.deepEqual([deleted.status, deleted.text], [204, '']);
  requireScimError(await directory.send('GET', `/Users/${id}`), 404);
  requireScimError(await directory.send('DELETE', `/Users/${id}`), 404);
  const after = await directory.group(group.id);
  assert.deepEqual(after.members, []);
  assert.notEqual(after.meta?.version, group.meta?.version);
  const events = await server.database.query<{ name: string; subject_name: string }>(
    'select name, subject_name from event where subject_id = $1 order by event_id',
    [id],
  );
  assert.deepEqual(
    events.map(({ name, subject_name }) => [name, subject_name]),
    [
      ['user-created', 'gone@example.com'],
      ['user-deleted', 'gone@example.com'],
    ],
  );
});

test('the service describes its schemas and what it can do', async () => {
  const config = await directory.send<Record<string, { supported: boolean }>>(
    'GET',
    '/ServiceProviderConfig',
  );
  for (const name of ['patch', 'bulk', 'filter', 'sort', 'etag'])
    assert.ok(config.body[name]?.supported, name);
  const schemas = await directory.send<{ Resources: { id: string }[] }>('GET', '/Schemas');
  assert.deepEqual(
    schemas.body.Resources.map(({ id }) => id),
    [scimUrns.user, enterprise, scimUrns.group],
  );
  requireScimError(await directory.send('GET', '/Schemas/urn:none'), 404);
  requireScimError(await directory.send('GET', '/ResourceTypes/Role'), 404);
});

test('/Me shows the caller, also a credential', async () => {
  const { body } = await directory.send<ScimUser>('GET', '/Me');
  assert.deepEqual([body.userName, body.userType, body.active], ['a DIRECTORY', 'Credential', true]);
});
