/** Requests that are large or expensive: they are refused, and do not stop the server for others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDirectoryClient, requireScimError } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { applyPatch } from './patch/scim-patch.ts';
import { userSchema } from './schema/user-schema.ts';

const server = await startTestServer();
const account = await server.account();
const directory = createDirectoryClient(await account.actor('DIRECTORY'));

/** All would block the server for minutes if they ran to their end. */
const expensive = {
  'a thousand operations with long filters': (values: number) => ({
    Operations: Array.from({ length: 1_000 }, () => ({
      op: 'replace',
      path: `emails[${Array(199).fill('value co "a"').join(' or ')}].display`,
      value: `x ${values}`,
    })),
  }),
  'a thousand operations that each add values': () => ({
    Operations: Array.from({ length: 1_000 }, (_, index) => ({
      op: 'add',
      path: 'emails',
      value: Array.from({ length: 40 }, (__, inner) => `${index}-${inner}@example.com`),
    })),
  }),
  'a thousand operations with a thousand values': () => ({
    Operations: Array.from({ length: 1_000 }, () => ({
      op: 'replace',
      path: 'emails',
      value: Array.from({ length: 1_000 }, (_, index) => index),
    })),
  }),
  'a thousand operations that remove lists': () => ({
    Operations: Array.from({ length: 1_000 }, () => ({
      op: 'remove',
      path: 'emails',
      value: Array.from({ length: 500 }, (_, index) => index),
    })),
  }),
};

for (const [name, build] of Object.entries(expensive))
  test(`a PATCH of ${name} is refused before it costs much`, () => {
    const emails = Array.from({ length: 1_000 }, (_, index) => ({ value: `a${index}@example.com` }));
    const before = process.cpuUsage();
    assert.throws(() => applyPatch(userSchema, { userName: 'x', emails }, build(1_000)), {
      code: 'invalid-attribute-value',
    });
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 5_000_000, `it took ${(user + system) / 1_000} ms of the processor`);
  });

test('a PATCH cannot add more values than a create', async () => {
  const user = await directory.createUser('many@example.com');
  const add = (from: number) => ({
    op: 'add',
    path: 'phoneNumbers',
    value: Array.from({ length: 600 }, (_, index) => String(from + index)),
  });
  requireScimError(await directory.patchUser(user.id, add(0), add(1_000)), 400, 'invalidValue');
  assert.equal((await directory.patchUser(user.id, add(0), add(0))).status, 200);
});

test('the attributes of a user together have a limit; a user above it can still be deactivated', async () => {
  const emails = [1, 2].map((index) => ({ value: `${index}${'a'.repeat(60_000)}` }));
  const made = await directory.send('POST', '/Users', { userName: 'fat@example.com', emails });
  requireScimError(made, 400, 'invalidValue');
  const user = await directory.createUser('large@example.com');
  const added = await directory.patchUser(user.id, { op: 'add', path: 'emails', value: emails });
  requireScimError(added, 400, 'invalidValue');
  await server.database.query(
    `update directory_user set attributes = jsonb_build_object('emails', (select jsonb_agg(jsonb_build_object('value', repeat('a', 60000 + i))) from generate_series(1, 4) i))
     where user_name = 'large@example.com'`,
  );
  const inactive = await directory.patchUser(user.id, { op: 'replace', path: 'active', value: false });
  assert.equal(inactive.status, 200);
});

test('JSON as text is bounded like a body', async () => {
  const user = await directory.createUser('deep@example.com');
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const path of ['emails', 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager'])
    requireScimError(
      await directory.patchUser(user.id, { op: 'add', path, value: deep }),
      400,
      'invalidValue',
    );
  // In Bulk it is the fault of its operation only.
  const value = '[{"value": "a\\u0000b"}]';
  const bulk = await directory.send<{ Operations: { status: string }[] }>('POST', '/Bulk', {
    Operations: [
      {
        method: 'PATCH',
        path: `/Users/${user.id}`,
        data: { Operations: [{ op: 'add', path: 'emails', value }] },
      },
      { method: 'POST', path: '/Users', bulkId: 'a', data: { userName: 'other@example.com' } },
    ],
  });
  assert.deepEqual(
    bulk.body.Operations.map(({ status }) => status),
    ['400', '201'],
  );
});
