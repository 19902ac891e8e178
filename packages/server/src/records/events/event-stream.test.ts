/** Following the log: by cursors, and as a stream of server-sent events. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AccountEventItem, EventLogPart } from '@headgate/contract';
import type { Account, Actor } from '../../../testing/account.ts';
import { requireProblem } from '../../../testing/client.ts';
import { type FollowedEvents, followEvents, type StreamedEvent } from '../../../testing/followed-events.ts';
import type { TestProject } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { getEventsKey } from '../../kernel/database/event-news.ts';
import { eventRetention } from './event.retention.ts';
import { renderCursor } from './log/event-cursor.ts';

const server = await startTestServer();
const address = await server.listen();
const open: FollowedEvents[] = [];
after(() => Promise.all(open.map((each) => each.cancel())));

async function createScene() {
  const account = await server.account();
  const project = await account.project();
  const write = (name: string, { path }: TestProject = project) =>
    account.admin.post(`${path}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' });
  return { account, admin: account.admin, project, write };
}

async function follow(actor: Actor, query = '', lastEventId?: string): Promise<FollowedEvents> {
  const followed = await followEvents(address, { token: await actor.token(), query, lastEventId });
  open.push(followed);
  return followed;
}

async function take(stream: FollowedEvents, count: number): Promise<StreamedEvent[]> {
  const taken: StreamedEvent[] = [];
  while (taken.length < count) taken.push((await stream.next()) ?? assert.fail('the stream has ended'));
  return taken;
}

async function drain(stream: FollowedEvents): Promise<StreamedEvent[]> {
  const all: StreamedEvent[] = [];
  for (let next = await stream.next(); next !== undefined; next = await stream.next()) all.push(next);
  return all;
}

const listAfter = async (actor: Actor, query: string) =>
  (await actor.get<EventLogPart>(`/events?${query}`)).body;
const listNames = (events: readonly AccountEventItem[]) => events.map((event) => event.eventSubjectName);
const listStreamed = (events: readonly StreamedEvent[]) => events.map(({ data }) => data.eventSubjectName);

test('the log is read by cursors, each event once, the oldest first', async () => {
  const { admin, write } = await createScene();
  for (const name of ['one', 'two', 'three']) await write(name);
  const seen: AccountEventItem[] = [];
  let cursor = 'oldest';
  for (let hasMore = true; hasMore; ) {
    const part = await listAfter(admin, `after=${cursor}&limit=2`);
    assert.ok(part.results.length <= 2);
    seen.push(...part.results);
    ({ cursor, hasMore } = part);
  }
  assert.deepEqual(listNames(seen).slice(-3), ['one', 'two', 'three']);
  assert.equal(new Set(seen.map(({ eventId }) => eventId)).size, 7);
  const idle = await listAfter(admin, `after=${cursor}`);
  assert.deepEqual(idle, { results: [], cursor, hasMore: false });
  await write('four');
  assert.deepEqual(listNames((await listAfter(admin, `after=${cursor}`)).results), ['four']);
});

test('`latest` begins with the next event, and the cursor moves past events that a filter hides', async () => {
  const { admin, write } = await createScene();
  const { cursor } = await listAfter(admin, 'after=latest');
  await write('one');
  assert.deepEqual(listNames((await listAfter(admin, `after=${cursor}`)).results), ['one']);
  const hidden = await listAfter(admin, `after=${cursor}&eventName=project-deleted`);
  assert.deepEqual([hidden.results, hidden.hasMore], [[], false]);
  assert.notEqual(hidden.cursor, cursor);
  const ofDev = await listAfter(admin, 'after=oldest&environmentName=dev');
  assert.deepEqual(
    ofDev.results.map((event) => [event.eventName, event.eventEnvironmentName]),
    [['environment-created', 'dev']],
  );
});

test('a request without a place, or with two, is refused', async () => {
  const { admin } = await createScene();
  const from = 'from=2024-01-01T00:00:00.000Z';
  for (const query of [
    '',
    from,
    'to=2024-01-01T00:00:00.000Z',
    `${from}&after=oldest`,
    'after=',
    'after=latest&limit=0',
  ])
    requireProblem(await admin.get(`/events?${query}`), 400, 'invalid-request');
});

test('a cursor that is none, or of the future, is refused in both places', async () => {
  const { admin } = await createScene();
  const wrong = ['x', '1', btoa('1:-1'), btoa('1:1.5'), btoa('1:99999999999999999999'), renderCursor(1_000)];
  for (const cursor of wrong) {
    for (const path of [`/events?after=${cursor}`, `/events/stream?seconds=0&after=${cursor}`]) {
      const refused = await admin.get(path);
      requireProblem(refused, 400, 'invalid-request');
      assert.match(refused.problem.violations?.[0] ?? '', /^query\.after: is/);
    }
  }
  const headers = { 'last-event-id': renderCursor(1_000) };
  requireProblem(await admin.get('/events/stream?seconds=0', { headers }), 400, 'invalid-request');
});

test('a cursor whose next events were removed is gone, and says how to continue', async () => {
  const { account, admin, write } = await createScene();
  const { cursor } = await listAfter(admin, 'after=oldest&limit=1');
  server.clock.advance(3 * 86_400);
  await write('young');
  const { remove } = eventRetention(1);
  const before = new Date(server.clock.now().getTime() - 86_400_000);
  await server.deps.database.read(remove, { account_id: account.accountId, before, cursor: null });
  for (const path of ['/events?', '/events/stream?seconds=0&']) {
    const gone = await admin.get(`${path}after=${cursor}`);
    requireProblem(gone, 410, 'events-removed');
    assert.match(gone.problem.detail, /after=oldest/);
  }
  assert.deepEqual(listNames((await listAfter(admin, 'after=oldest')).results), ['young']);
});

test('only a Super Admin reads the log by cursors', async () => {
  const { account, project } = await createScene();
  const owner = await account.actor('ADMIN', { projectId: project.projectId, role: 'OWNER' });
  requireProblem(await owner.get('/events?after=oldest'), 403, 'forbidden');
});

test('a stream has what was before, then each event as it is committed, and continues after an id', async () => {
  const { admin, write } = await createScene();
  const stream = await follow(admin, 'after=oldest');
  assert.equal(stream.answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const before = await take(stream, 4);
  await write('one');
  await write('two');
  const [one, two] = await take(stream, 2);
  assert.deepEqual([one?.event, one?.data.eventSubjectName], ['message', 'one']);
  assert.equal(two?.data.eventSubjectName, 'two');
  const again = await follow(admin, 'after=latest&seconds=0', before[1]?.id);
  const rest = await drain(again);
  assert.deepEqual(
    rest.slice(0, -1).map(({ id }) => id),
    [before[2]?.id, before[3]?.id, one?.id, two?.id],
  );
  assert.deepEqual(rest.at(-1), { event: 'end', id: undefined, data: { reason: 'time-over' } });
  assert.deepEqual(listNames((await listAfter(admin, `after=${one?.id}`)).results), ['two']);
});

test('each stream has its own filter, and they share the reads of the log', async () => {
  const { account, admin, project, write } = await createScene();
  const other = await account.project();
  const streams = await Promise.all([
    follow(admin),
    follow(admin, `projectId=${project.projectId}&eventName=variable-created`),
    follow(admin, `projectId=${other.projectId}&subjectType=variable`),
    follow(admin, 'subjectId=nothing'),
    follow(admin, `environmentName=dev&actorId=${admin.actorId}`),
  ]);
  const [all, ofProject, ofOther] = streams;
  for (let round = 0; round < 5; round += 1) {
    await write(`here${round}`);
    await write(`there${round}`, other);
  }
  const numbers = [0, 1, 2, 3, 4];
  assert.deepEqual(
    listStreamed(await take(all as FollowedEvents, 10)),
    numbers.flatMap((round) => [`here${round}`, `there${round}`]),
  );
  assert.deepEqual(
    listStreamed(await take(ofProject as FollowedEvents, 5)),
    numbers.map((round) => `here${round}`),
  );
  assert.deepEqual(
    listStreamed(await take(ofOther as FollowedEvents, 5)),
    numbers.map((round) => `there${round}`),
  );
});

const grant = (account: Account, actor: Actor, projectId: string) =>
  server.database.query(
    "insert into role_grant (account_id, credential_id, project_id, role) values ($1, $2, $3, 'VIEWER')",
    [account.accountId, actor.actorId, projectId],
  );
const revoke = (actor: Actor, projectId: string) =>
  server.database.query('delete from role_grant where credential_id = $1 and project_id = $2', [
    actor.actorId,
    projectId,
  ]);

test('a reader gets the events of the projects that it may read at that moment', async () => {
  const { account, project, write } = await createScene();
  const other = await account.project();
  const viewer = await account.actor('MEMBER', { projectId: project.projectId, role: 'VIEWER' });
  const user = await account.user('MEMBER', { projectId: other.projectId, role: 'OWNER' });
  const [stream, ofUser] = [await follow(viewer), await follow(user)];
  await write('one', other);
  await write('two');
  assert.deepEqual(listStreamed(await take(stream, 1)), ['two']);
  assert.deepEqual(listStreamed(await take(ofUser, 1)), ['one']);
  await grant(account, viewer, other.projectId);
  await write('three', other);
  assert.deepEqual(listStreamed(await take(stream, 1)), ['three']);
  await revoke(viewer, project.projectId);
  await write('four');
  await write('five', other);
  assert.deepEqual(listStreamed(await take(stream, 1)), ['five']);
  await revoke(viewer, other.projectId);
  await write('six', other);
  assert.deepEqual((await take(stream, 1))[0]?.data, { reason: 'forbidden' });
  assert.equal(await stream.next(), undefined);
});

test('a stream ends when the role, the credential or the token ends', async () => {
  const { account, admin, write } = await createScene();
  const [demoted, revoked] = [await account.actor('SUPER_ADMIN'), await account.actor('SUPER_ADMIN')];
  const streams = await Promise.all([demoted, revoked, admin].map((actor) => follow(actor)));
  const [ofDemoted, ofRevoked, expiring] = streams as [FollowedEvents, FollowedEvents, FollowedEvents];
  await write('one');
  for (const stream of streams) assert.deepEqual(listStreamed(await take(stream, 1)), ['one']);
  await server.database.query("update credential set account_role = 'MEMBER' where credential_id = $1", [
    demoted.actorId,
  ]);
  await server.database.query('update credential set revoked_at = now() where credential_id = $1', [
    revoked.actorId,
  ]);
  await write('two');
  assert.deepEqual((await take(ofDemoted, 1))[0]?.data, { reason: 'forbidden' });
  assert.deepEqual((await take(ofRevoked, 1))[0]?.data, { reason: 'token-expired' });
  assert.deepEqual(listStreamed(await take(expiring, 1)), ['two']);
  server.clock.advance(1_900);
  await write('three');
  const end = (await drain(expiring)).at(-1);
  assert.deepEqual(end?.data, { reason: 'token-expired' });
});

test('a stream that falls far behind reads the log by itself, and misses nothing', async () => {
  const { account, admin } = await createScene();
  const stream = await follow(admin);
  const count = 6_000;
  // More than the rounds that are kept hold, and more than one read gives positions.
  await server.database.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id)
     select $1, $2, gen_random_uuid(), 'variable-created', 'system', 'variable', n::text from generate_series(1, $3::integer) n`,
    [account.accountId, server.clock.now(), count],
  );
  const late = await follow(admin, 'after=oldest&subjectType=variable');
  await account.project();
  const expected = Array.from({ length: count }, (_, index) => String(index + 1));
  for (const each of [stream, late])
    assert.deepEqual(
      (await take(each, count)).map(({ data }) => data.eventSubjectId),
      expected,
    );
});

test('a client that leaves ends the reads of its account', async () => {
  const { account, admin, write } = await createScene();
  const stream = await follow(admin);
  await write('one');
  await take(stream, 1);
  await stream.cancel();
  await write('two');
  const again = await follow(admin, 'after=oldest&seconds=0');
  assert.equal(listStreamed((await drain(again)).slice(0, -1)).at(-1), 'two');
  const key = getEventsKey(account.accountId);
  await waitUntil('the end of the reads', 120, () => server.deps.wakes.countWaiting(key) === 0);
});
