/** The events of an account, by time and by filter, in pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AccountEventItem, countedEventLimit, type Page } from '@headgate/contract';
import type { Client } from '../../../testing/client.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const ever = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED' };

const listEvents = async (client: Client, query: string) =>
  (await client.get<Page<AccountEventItem>>(`/events?${query}`)).body;
const listNames = ({ results }: Page<AccountEventItem>) => results.map((event) => event.eventName);

/** Three changes of a variable, one second apart, with the times before and after. */
async function makeThreeChanges() {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const times: string[] = [];
  const advanceClock = () => {
    server.clock.advance(1);
    times.push(server.clock.now().toISOString());
  };
  advanceClock();
  await account.admin.post(`${path}/variables`, city);
  advanceClock();
  await account.admin.patch(`${path}/variables/city`, { type: 'TEXT', behaviour: 'COPIED' });
  advanceClock();
  await account.admin.delete(`${path}/variables/city`);
  advanceClock();
  return { account, admin: account.admin, path, projectId, times };
}

test('events of a time range are listed newest first; the range includes its start, not its end', async () => {
  const { admin, times } = await makeThreeChanges();
  const [first, second, third, last] = times;
  assert.deepEqual(listNames(await listEvents(admin, `from=${first}&to=${last}`)), [
    'variable-deleted',
    'variable-updated',
    'variable-created',
  ]);
  assert.deepEqual(listNames(await listEvents(admin, `from=${first}&to=${second}`)), ['variable-created']);
  assert.deepEqual(listNames(await listEvents(admin, `from=${second}&to=${third}`)), ['variable-updated']);
});

test('an event contains the actor, the action, the subject, and the state before and after', async () => {
  const { admin, projectId, times } = await makeThreeChanges();
  const [, second, third] = times;
  const [event] = (await listEvents(admin, `from=${second}&to=${third}`)).results;
  assert.ok(event);
  const { eventId: _, additionalInfo, ...told } = event;
  assert.deepEqual(told, {
    eventName: 'variable-updated',
    eventType: 'UPDATE',
    eventDescription: 'Variable updated: city',
    eventSource: 'credential',
    eventTimestamp: second,
    eventProjectId: projectId,
    eventSubjectId: told.eventSubjectId,
    eventSubjectName: 'city',
    eventSubjectType: 'variable',
    actorId: admin.actorId,
  });
  const { before, after, requestId } = additionalInfo as Record<string, { behaviour: string }>;
  assert.deepEqual([before?.behaviour, after?.behaviour], ['SHARED', 'COPIED']);
  assert.match(String(requestId), /^[0-9a-f-]{36}$/);
});

test('filters select events, and several filters must all match', async () => {
  const { account, admin, path, projectId } = await makeThreeChanges();
  const other = await account.project();
  const colleague = await account.actor('SUPER_ADMIN');
  await colleague.post(`${other.path}/variables`, city);
  const total = async (query: string) => (await listEvents(admin, `${ever}&${query}`)).total;
  assert.equal(await total(`projectId=${projectId}`), 6, 'the project, two environments, three changes');
  assert.equal(await total(`projectId=${other.projectId}`), 4);
  assert.equal(await total('eventName=variable-created'), 2);
  assert.equal(await total('eventName=variable-created&eventName=variable-deleted'), 3);
  assert.equal(await total(`actorId=${colleague.actorId}`), 1);
  assert.equal(await total('subjectType=environment'), 4);
  assert.equal(await total('subjectType=environment&subjectId=dev'), 2);
  assert.equal(await total(`subjectType=environment&subjectId=dev&projectId=${projectId}`), 1);
  assert.equal(await total(`actorId=${colleague.actorId}&projectId=${projectId}`), 0);
  assert.equal(
    await total('projectId=nothing&actorId=nobody'),
    0,
    'a value that cannot be an id matches no event',
  );
  requireProblem(await admin.get(`/events?${ever}&eventName=nothing`), 400, 'invalid-request');
  await admin.delete(path);
  assert.equal(await total(`projectId=${projectId}`), 7, 'the events of a deleted project remain');
});

test('pages have no gaps, and each contains the total', async () => {
  const { admin } = await makeThreeChanges();
  const whole = await listEvents(admin, `${ever}&size=100`);
  const paged: string[] = [];
  for (let page = 0; paged.length < whole.total; page += 1) {
    const { results, total, size } = await listEvents(admin, `${ever}&size=2&page=${page}`);
    assert.deepEqual([total, size], [whole.total, 2]);
    assert.ok(results.length > 0);
    paged.push(...results.map((event) => event.eventId));
  }
  assert.deepEqual(
    paged,
    whole.results.map((event) => event.eventId),
  );
  const behind = await listEvents(admin, `${ever}&page=1000`);
  assert.deepEqual([behind.results, behind.total], [[], whole.total]);
});

test('the total is exact up to its limit and never exceeds it', async () => {
  const account = await server.account();
  const insert = (count: number) =>
    server.database.query(
      `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id)
       select $1, '2021-01-01', gen_random_uuid(), 'variable-created', 'system', 'variable', n::text
       from generate_series(1, $2::integer) n`,
      [account.accountId, count],
    );
  const year = 'from=2021-01-01T00:00:00.000Z&to=2022-01-01T00:00:00.000Z';
  const total = async (filter = '') => (await listEvents(account.admin, `${year}${filter}`)).total;
  await insert(countedEventLimit - 1);
  assert.equal(await total(), countedEventLimit - 1);
  assert.equal(await total('&eventName=variable-created'), countedEventLimit - 1);
  await insert(10);
  assert.equal(await total(), countedEventLimit);
  assert.equal(await total('&subjectType=variable'), countedEventLimit);
});

test('a range is remembered as full for a minute, and only that range', async () => {
  const account = await server.account();
  await server.database.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id)
     select $1, '2021-01-01'::timestamptz + make_interval(secs => n), gen_random_uuid(), 'variable-created', 'system', 'variable', n::text
     from generate_series(1, $2::integer) n`,
    [account.accountId, countedEventLimit],
  );
  const total = async (from: string, to: string) =>
    (await listEvents(account.admin, `from=${from}T00:00:00.000Z&to=${to}T00:00:00.000Z`)).total;
  assert.equal(await total('2021-01-01', '2021-06-01'), countedEventLimit);
  await server.database.query(
    `delete from event where account_id = $1 and occurred_at < '2021-01-01T00:00:11Z'`,
    [account.accountId],
  );
  assert.equal(await total('2020-01-01', '2022-01-01'), countedEventLimit, 'a wider one');
  assert.equal(await total('2021-01-01', '2021-01-02'), countedEventLimit - 10, 'one that ends before');
  assert.equal(await total('2021-01-02', '2021-06-01'), 0, 'one that begins later');
  server.clock.advance(61);
  assert.equal(await total('2020-01-01', '2022-01-01'), countedEventLimit - 10, 'a minute later');
});

test('an invalid range is refused', async () => {
  const { admin } = await server.account();
  const at = '2024-01-01T00:00:00.000Z';
  requireProblem(await admin.get(`/events?from=${at}&to=${at}`), 422, 'empty-time-range');
  requireProblem(await admin.get(`/events?from=${at}&to=2023-01-01T00:00:00.000Z`), 422, 'empty-time-range');
  requireProblem(await admin.get(`/events?from=${at}`), 400, 'invalid-request');
  requireProblem(await admin.get(`/events?from=yesterday&to=${at}`), 400, 'invalid-request');
  requireProblem(await admin.get(`/events?from=2024-02-30T00:00:00.000Z&to=${at}`), 400, 'invalid-request');
});

test('events of another account are never listed', async () => {
  const { projectId, account } = await makeThreeChanges();
  const stranger = (await server.account()).admin;
  for (const filter of ['', `&projectId=${projectId}`, `&actorId=${account.admin.actorId}`]) {
    const { results } = await listEvents(stranger, `${ever}${filter}`);
    assert.ok(
      results.every((event) => event.eventProjectId === undefined && event.actorId !== account.admin.actorId),
    );
  }
});
