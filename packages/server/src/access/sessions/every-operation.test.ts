/** Every operation of the management API by the cookie of a session. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '@headgate/contract';
import { createClient } from '../../../testing/client.ts';
import { examples, sortGuards, takesPlaceAway } from '../../../testing/guards.ts';
import { createPlace } from '../../../testing/place.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(patientRequests);

test('a session may do what its user may, and changes nothing for another site', async () => {
  const account = await server.account();
  const place = await createPlace(account);
  const ada = await account.user('SUPER_ADMIN');
  const { client, cookie } = await account.signIn(ada.actorId);
  const elsewhere = createClient(server.transport, '/dpc/v1', async () => undefined);
  const faults: string[] = [];
  for (const { id, method, success } of sortGuards(operations.filter((each) => each.id in examples))) {
    const example = examples[id] ?? assert.fail(id);
    const { path, ...asked } = await example(takesPlaceAway({ id }) ? await createPlace(account) : place);
    // The example is of a user that has a token of its own.
    if (asked.headers?.authorization !== undefined) continue;
    const isRead = method === 'GET' && success.mediaType !== 'text/event-stream';
    if (!isRead) {
      const headers = { ...asked.headers, cookie, 'sec-fetch-site': 'cross-site' };
      // By the words, because SCIM errors have no code.
      const refused = await elsewhere.send(method, path, { ...asked, headers });
      assert.deepEqual([refused.status, /a page of this server/.test(refused.text)], [403, true], id);
    }
    const answer = await client.send(method, path, asked);
    if (answer.status >= 300) faults.push(`${id}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }
  assert.deepEqual(faults, []);
});
