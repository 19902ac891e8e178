/** Names of users and groups that are the same, by SCIM and by the API. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Page, scimUrns, type User } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createDirectoryClient, requireScimError } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

test('names that differ only in case or in the form of an accent are the same', async () => {
  const { admin } = await server.account();
  const directory = createDirectoryClient(admin);
  const composed = 'José'.normalize('NFC');
  const apart = 'JOSÉ'.normalize('NFD');
  const { userId } = (await admin.post<User>('/users', { userName: apart })).body;
  const again = { schemas: [scimUrns.user], userName: composed };
  requireScimError(await directory.send('POST', '/Users', again), 409, 'uniqueness');
  for (const form of [composed, apart]) {
    const found = await directory.find('Users', `userName eq "${form}"`);
    assert.deepEqual(
      found.Resources.map(({ id }) => id),
      [userId],
    );
    const listed = await admin.get<Page<User>>(`/users?userName=${encodeURIComponent(form)}`);
    assert.equal(listed.body.total, 1);
  }
  await directory.createGroup(composed);
  requireProblem(await admin.post('/groups', { displayName: apart }), 409, 'group-name-taken');
  assert.equal((await directory.find('Groups', `displayName sw "${apart}"`)).totalResults, 1);
});
