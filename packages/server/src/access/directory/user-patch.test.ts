/** PATCH of users, as RFC 7644 and the directories document it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ScimUser, scimUrns } from '@headgate/contract';
import { createDirectoryClient, requireScimError } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const account = await server.account();
const directory = createDirectoryClient(await account.actor('DIRECTORY'));
const enterprise = scimUrns.enterpriseUser;

test('PATCH as Microsoft Entra ID sends it', async () => {
  const { id } = await directory.createUser('entra@example.com', {
    emails: [{ type: 'work', value: 'old@example.com' }],
  });
  const patched = await directory.patchUser(
    id,
    { op: 'Replace', path: 'active', value: 'False' },
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'new@example.com' },
    { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '555' },
    { op: 'Add', path: `${enterprise}:manager`, value: '1234' },
    { op: 'Replace', path: 'name.familyName', value: 'Jones' },
    { op: 'Add', path: 'roles[primary eq "True"].value', value: 'user' },
    {
      op: 'Add',
      value: {
        id: 'ignored',
        'name.givenName': 'Mary',
        'emails[type eq "home"].value': 'home@example.com',
        [`${enterprise}:department`]: 'Sales',
        [`${scimUrns.user}:nickName`]: 'M',
        groups: [{ value: 'ignored' }],
        unknown: true,
      },
    },
  );
  const user = patched.body;
  assert.equal(user.id, id);
  assert.deepEqual(
    {
      active: user.active,
      emails: user.emails,
      phoneNumbers: user.phoneNumbers,
      name: user.name,
      roles: user.roles,
      nickName: user.nickName,
      enterprise: user[enterprise],
    },
    {
      active: false,
      emails: [
        { type: 'work', value: 'new@example.com' },
        { type: 'home', value: 'home@example.com' },
      ],
      phoneNumbers: [{ type: 'mobile', value: '555' }],
      name: { familyName: 'Jones', givenName: 'Mary' },
      roles: [{ primary: true, value: 'user' }],
      nickName: 'M',
      enterprise: { manager: { value: '1234' }, department: 'Sales' },
    },
  );
});

test('replacing a value that is not there creates it, so that a leaver beside it is deactivated', async () => {
  const { id } = await directory.createUser('leaver@example.com');
  const { body } = await directory.patchUser(
    id,
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'leaver@example.com' },
    { op: 'Replace', path: 'addresses[type eq "work" and primary eq "True"].country', value: 'NO' },
    { op: 'Replace', path: 'phoneNumbers[type eq "mobile"]', value: [{ value: '555' }] },
    { op: 'Replace', path: 'active', value: 'False' },
  );
  assert.deepEqual(
    [body.active, body.emails, body.addresses, body.phoneNumbers],
    [
      false,
      [{ type: 'work', value: 'leaver@example.com' }],
      [{ type: 'work', primary: true, country: 'NO' }],
      [{ type: 'mobile', value: '555' }],
    ],
  );
  const back = await directory.patchUser(id, { op: 'Replace', value: { active: 'True' } });
  assert.equal(back.body.active, true);
});

test('a user without `active` is not active', async () => {
  const operations = [
    { op: 'Remove', path: 'active' },
    { op: 'replace', path: 'active', value: null },
    { op: 'replace', value: { active: null } },
  ];
  for (const [index, operation] of operations.entries()) {
    const { id } = await directory.createUser(`removed-${index}@example.com`);
    const { body } = await directory.patchUser(id, operation);
    assert.equal(body.active, false, JSON.stringify(operation));
  }
});

test('PATCH as Okta, OneLogin and GitHub document it, with a value object and no path', async () => {
  const { id } = await directory.createUser('okta@example.com');
  const off = await directory.send<ScimUser>('PATCH', `/Users/${id}`, {
    schemas: [scimUrns.patch],
    Operations: [{ op: 'replace', value: { active: false } }],
  });
  assert.equal(off.body.active, false);
  const whole = await directory.patchUser(id, {
    op: 'replace',
    value: { active: true, displayName: 'Okta', [enterprise]: { costCenter: '42' } },
  });
  assert.deepEqual(
    [whole.body.active, whole.body.displayName, whole.body[enterprise]],
    [true, 'Okta', { costCenter: '42' }],
  );
  const bare = await directory.patchUser(id, { op: 'remove', path: enterprise });
  assert.deepEqual([bare.body[enterprise], bare.body.schemas], [undefined, [scimUrns.user]]);
});

test('all operations of a PATCH are applied, or none', async () => {
  const { id, meta } = await directory.createUser('none@example.com', { title: 'Guide' });
  const cases: [object, 400, Parameters<typeof requireScimError>[2]][] = [
    [{ op: 'remove' }, 400, 'noTarget'],
    [{ op: 'replace', path: 'emails[type ne "work"].value', value: 'x' }, 400, 'noTarget'],
    [{ op: 'replace', path: 'emails[type eq "a" or type eq "b"].value', value: 'x' }, 400, 'noTarget'],
    [{ op: 'replace', path: 'emails[type eq null].value', value: 'x' }, 400, 'noTarget'],
    [{ op: 'replace', path: 'noSuchThing', value: 'x' }, 400, 'invalidPath'],
    [{ op: 'replace', path: 'emails[', value: 'x' }, 400, 'invalidPath'],
    [{ op: 'replace', path: 'emails[type zz "x"]', value: 'x' }, 400, 'invalidFilter'],
    [{ op: 'replace', path: 'id', value: 'x' }, 400, 'mutability'],
    [{ op: 'add', path: 'groups', value: [{ value: 'x' }] }, 400, 'mutability'],
    [{ op: 'remove', path: 'userName' }, 400, 'mutability'],
    [{ op: 'replace', path: 'active', value: 'maybe' }, 400, 'invalidValue'],
    [{ op: 'replace', path: 'title', value: { a: 1 } }, 400, 'invalidValue'],
    [{ op: 'move', path: 'title', value: 'x' }, 400, 'invalidSyntax'],
    [
      {
        op: 'add',
        path: 'emails',
        value: [
          { value: 'a', primary: true },
          { value: 'b', primary: true },
        ],
      },
      400,
      'invalidValue',
    ],
  ];
  for (const [operation, status, scimType] of cases) {
    const refused = await directory.patchUser(
      id,
      { op: 'replace', path: 'title', value: 'Changed' },
      operation,
    );
    requireScimError(refused, status, scimType);
  }
  const wrongSchema = await directory.send('PATCH', `/Users/${id}`, {
    schemas: [scimUrns.user],
    Operations: [{ op: 'replace', path: 'title', value: 'x' }],
  });
  requireScimError(wrongSchema, 400, 'invalidSyntax');
  const many = Array.from({ length: 10_000 }, () => ({ op: 'replace', path: 'title', value: 'x' }));
  requireScimError(await directory.patchUser(id, ...many), 400, 'tooMany');
  const after = await directory.user(id);
  assert.deepEqual([after.title, after.meta], ['Guide', meta]);
});

test('values of a multi-valued attribute are added once and removed by filter or by value', async () => {
  const { id, meta } = await directory.createUser('values@example.com', {
    emails: [
      { value: 'a@x', type: 'work', primary: true },
      { value: 'b@x', type: 'home' },
    ],
  });
  const same = await directory.patchUser(id, {
    op: 'add',
    path: 'emails',
    value: [{ value: 'b@x', type: 'home' }],
  });
  assert.equal(same.body.meta?.version, meta?.version, 'adding what is there changes nothing');
  const added = await directory.patchUser(id, {
    op: 'add',
    path: 'emails',
    value: { value: 'c@x', primary: true },
  });
  assert.deepEqual(
    added.body.emails?.map(({ value, primary }) => [value, primary ?? false]),
    [
      ['a@x', false],
      ['b@x', false],
      ['c@x', true],
    ],
  );
  const removed = await directory.patchUser(
    id,
    { op: 'remove', path: 'emails[type eq "home"]' },
    { op: 'remove', path: 'emails', value: [{ value: 'c@x' }] },
  );
  assert.deepEqual(
    removed.body.emails?.map(({ value }) => value),
    ['a@x'],
  );
});
