/** Every committed write leaves its event, and nothing else does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOfProject, type Operation, operations } from '@headgate/contract';
import { examples, protocolExamples, sortGuards, takesPlaceAway } from '../../../testing/guards.ts';
import { createPlace, type Place } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

interface EventRow {
  event_id: string;
  name: string;
  actor_id: string | null;
  actor_kind: string;
  request_id: string | null;
  project_id: string | null;
  subject_name: string | null;
  sequence: string;
  state_before: object | null;
  state_after: object | null;
}

const readEvents = ({ account }: Place) =>
  server.database.query<EventRow>(
    `select event_id, name, actor_id, actor_kind, request_id, project_id, subject_name, sequence, state_before, state_after
     from event where account_id = $1`,
    [account.accountId],
  );

/** Sends the example of an operation and returns the events that it wrote. */
async function runExample(operation: Operation, place: Place) {
  const surface = operation.surface === 'dpc' ? examples : protocolExamples;
  const { path, ...asked } =
    (await surface[operation.id]?.(place)) ?? assert.fail(`no request for ${operation.id}`);
  const before = new Set((await readEvents(place)).map((event) => event.event_id));
  const client = operation.surface === 'dpc' ? place.account.admin : place.agent.client;
  const answer = await client.send(operation.method, path, asked);
  assert.ok(answer.status < 300, `${operation.id}: ${answer.text}`);
  // Events of an agent that serves the request are not the request's own.
  const isOwn = ({ actor_kind }: EventRow) => operation.surface === 'agent' || actor_kind !== 'agent';
  const events = (await readEvents(place)).filter((event) => !before.has(event.event_id) && isOwn(event));
  return { events, answer };
}

const isRead = (operation: Operation) => operation.events.length === 0;
/** The caller is a credential, which has none of these; session.test.ts and passkey.test.ts end those of users. */
const withoutEffect = new Set(['deleteOwnSessions', 'deleteOwnPasskeys']);

/** Only a person who is signed in may send their examples. */
const ofPeople = new Set(['createOwnToken', 'deleteOwnToken']);

test('every write operation records one of its declared events, with actor, subject and states', async () => {
  const place = await createPlace(await server.account());
  for (const operation of sortGuards(
    operations.filter((each) => !isRead(each) && !withoutEffect.has(each.id)),
  )) {
    const at = takesPlaceAway(operation) ? await createPlace(await server.account()) : place;
    const { events, answer } = await runExample(operation, at);
    assert.ok(events.length > 0, `${operation.id} leaves no event`);
    for (const event of events) {
      const what = `${operation.id}: ${JSON.stringify(event)}`;
      assert.ok((operation.events as readonly string[]).includes(event.name), `${what} is not declared`);
      if (ofPeople.has(operation.id)) {
        assert.equal(event.actor_kind, 'user', what);
        continue;
      }
      assert.equal(event.actor_kind, operation.surface === 'dpc' ? 'credential' : 'agent', what);
      assert.equal(
        event.actor_id,
        operation.surface === 'dpc' ? at.account.admin.actorId : at.agent.agentId,
        what,
      );
      assert.equal(event.request_id, answer.headers['x-request-id'], what);
      assert.ok(Number(event.sequence) > 0, what);
      assert.ok(event.subject_name !== null, what);
      if (isOfProject(operation)) assert.equal(event.project_id, at.project.projectId, what);
      if (/-(updated|cancel-requested)$/.test(event.name))
        assert.ok(event.state_before && event.state_after, what);
      else if (/-deleted$/.test(event.name))
        assert.ok(event.state_before !== null && event.state_after === null, what);
      // A claim and a start change no visible state: the event has only a name.
      else if (!/-(claimed|started)$/.test(event.name))
        assert.ok(event.state_after !== null, `${what} holds no state`);
    }
  }
});

test('a read records no event', async () => {
  const place = await createPlace(await server.account());
  for (const operation of operations.filter(isRead)) {
    assert.deepEqual((await runExample(operation, place)).events, [], operation.id);
  }
});

test('a refused write records no event', async () => {
  const place = await createPlace(await server.account());
  const before = await readEvents(place);
  const { admin } = place.account;
  const variables = `${place.project.path}/variables`;
  await admin.post(variables, { name: 'city', type: 'TEXT', behaviour: 'SHARED' });
  await admin.patch(`${variables}/city`, { type: 'NUMBER', behaviour: 'SHARED' });
  await admin.delete(`${variables}/city`, { headers: { 'if-match': '"x"' } });
  await admin.post(`${variables}/city/environment-overrides?atomic=true`, {
    environmentName: 'uat',
    value: 'x',
  });
  await (await place.account.actor('MEMBER')).post('/projects', {});
  assert.equal((await readEvents(place)).length, before.length);
});

test('a change records the state before and after, also for an override', async () => {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const city = `${place.project.path}/variables/city`;
  await admin.patch(city, { type: 'TEXT', behaviour: 'COPIED', value: 'Bodø' });
  await admin.post(`${city}/environment-overrides`, [
    { environmentName: 'dev', value: 'Tromsø' },
    { environmentName: 'prod', value: 'Alta' },
  ]);
  await admin.delete(city);
  const events = (await readEvents(place)).toSorted((one, other) => (one.event_id < other.event_id ? -1 : 1));
  const [deleted, written, updated] = events.toReversed();
  assert.equal(updated?.name, 'variable-updated');
  assert.deepEqual(
    [updated?.state_before, updated?.state_after].map((state) => {
      const { value, behaviour } = state as { value: string; behaviour: string };
      return [value, behaviour];
    }),
    [
      ['Oslo', 'SHARED'],
      ['Bodø', 'COPIED'],
    ],
  );
  assert.deepEqual(written?.state_before, {
    environmentOverrides: [{ environmentName: 'dev', value: 'Bergen' }],
  });
  assert.deepEqual(written?.state_after, {
    environmentOverrides: [
      { environmentName: 'dev', value: 'Tromsø' },
      { environmentName: 'prod', value: 'Alta' },
    ],
  });
  const before = deleted?.state_before as { environmentOverrides: unknown[] };
  assert.equal(before.environmentOverrides.length, 2);
});

test('an event and its effect have the same transaction', async () => {
  const place = await createPlace(await server.account());
  await place.account.admin.post(`${place.project.path}/variables`, {
    name: 'town',
    type: 'TEXT',
    behaviour: 'SHARED',
  });
  const rows = await server.database.query<{ same: boolean }>(
    `select e.xmin = v.xmin as same from event e, variable v
     where e.account_id = $1 and v.account_id = $1 and e.subject_name = 'town' and v.name = 'town'`,
    [place.account.accountId],
  );
  assert.deepEqual(rows, [{ same: true }]);
});
