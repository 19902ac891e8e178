/** How a backfill ends: cancelled, without rights, blocked; and who may do what. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBackfilled } from '../../../testing/backfilled-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { advanceBackfills } from './backfill-rounds.ts';

const server = await startTestServer({ startsAt: new Date('2026-11-20T10:00:00.000Z') });
const week = { from: '2026-11-01T00:00:00Z', to: '2026-11-08T00:00:00Z' };
const advance = () => advanceBackfills(server.deps);
type Found = Awaited<ReturnType<typeof createBackfilled>>;
const namesOf = async ({ eventsOf }: Found, id: string) =>
  (await eventsOf(id)).map(({ eventName }) => eventName);

test('a cancelled backfill starts nothing more; queued runs end at once, running ones after their step', async () => {
  const found = await createBackfilled(server);
  const { begun, stop, readBackfill, instance, status } = found;
  const id = await begun({ ...week, concurrency: 3 });
  await advance();
  const [held] = (await instance.claim(1)).work;
  assert.ok(held);
  await instance.report(held, { type: 'started' });
  assert.deepEqual((await stop(id)).body, { backfillId: id, status: 'STOPPING' });
  assert.equal(await status(held.workId), 'CANCELLING');
  const { counts } = await readBackfill(id);
  assert.deepEqual([counts.running, counts.cancelled, counts.skipped, counts.waiting], [1, 2, 4, 0]);
  await advance();
  assert.equal((await readBackfill(id)).status, 'STOPPING');
  // Again, and with force.
  assert.equal((await stop(id, true)).status, 200);
  await instance.report(held, { type: 'completed', outcome: { status: 'CANCELLED' } });
  await advance();
  const final = await readBackfill(id);
  assert.deepEqual([final.status, final.counts.cancelled, final.counts.skipped], ['CANCELLED', 3, 4]);
  const { detail } = requireProblem(await stop(id), 409, 'backfill-not-running');
  assert.match(detail ?? '', /its status is CANCELLED/);
  assert.deepEqual(await namesOf(found, id), [
    ...['backfill-created', 'backfill-cancelled', 'backfill-cancelled', 'backfill-ended'],
  ]);
});

test('a backfill that is cancelled before its first tick', async () => {
  const { begun, stop, readBackfill } = await createBackfilled(server);
  const id = await begun(week);
  await stop(id);
  await advance();
  const { status, counts } = await readBackfill(id);
  assert.deepEqual([status, counts.skipped], ['CANCELLED', 7]);
});

test('a caller that loses its rights: one run is FORBIDDEN, and the rest does not run', async () => {
  const found = await createBackfilled(server);
  const { account, made, backfills, readBackfill, instance, runsOf, scheduleId } = found;
  const grant = { projectId: made.projectId, environmentName: 'dev', role: 'OPERATOR' } as const;
  const operator = await account.actor('MEMBER', grant);
  const { body } = await operator.post<{ backfillId: string }>(backfills, { ...week, concurrency: 2 });
  const id = body.backfillId;
  await advance();
  const [held] = (await instance.claim(1)).work;
  assert.ok(held);
  await server.database.query(`delete from role_grant where credential_id = '${operator.actorId}'`);
  await server.sweep();
  assert.equal((await instance.claim(1)).work.length, 0, 'the queued run is not claimed');
  await advance();
  const stopping = await readBackfill(id);
  assert.equal(stopping.status, 'STOPPING');
  await instance.report(held, { type: 'completed', outcome: { status: 'SUCCESS' } });
  await advance();
  const { status, problem, counts } = await readBackfill(id);
  assert.deepEqual([status, problem?.code], ['FAILED', 'forbidden']);
  assert.match(problem?.detail ?? '', /^"a MEMBER", which started the backfill, no longer has permission/);
  assert.deepEqual(counts, {
    ...{ total: 7, waiting: 0, running: 0, succeeded: 1, failed: 0, cancelled: 0, forbidden: 2, skipped: 4 },
  });
  assert.equal((await runsOf(scheduleId)).at(-1)?.message, problem?.detail);
});

test('a cancelled backfill of a caller without rights still says that it failed', async () => {
  const { account, made, backfills, readBackfill, instance, stop } = await createBackfilled(server);
  const grant = { projectId: made.projectId, environmentName: 'dev', role: 'OPERATOR' } as const;
  const operator = await account.actor('MEMBER', grant);
  const { body } = await operator.post<{ backfillId: string }>(backfills, { ...week, concurrency: 2 });
  await advance();
  const { work } = await instance.claim(2);
  await server.database.query(`delete from role_grant where credential_id = '${operator.actorId}'`);
  const [first, second] = work;
  assert.ok(first && second);
  await instance.report(first, { type: 'completed', outcome: { status: 'SUCCESS' } });
  await advance();
  await stop(body.backfillId);
  await instance.report(second, { type: 'completed', outcome: { status: 'CANCELLED' } });
  await advance();
  assert.equal((await readBackfill(body.backfillId)).status, 'FAILED');
});

test('a tick that cannot start is tried again until it can; nothing is left out', async () => {
  const found = await createBackfilled(server);
  const { admin, made, begun, readBackfill, runClaimed } = found;
  const id = await begun({ ...week, concurrency: 7 });
  const { results } = (
    await admin.get<{ results: { versionName: string }[] }>(`${made.path}/artifacts?environmentName=dev`)
  ).body;
  const [version] = results;
  assert.ok(version);
  const enable = (enabled: boolean) =>
    server.database.query('update artifact_version set enabled = $1 where project_id = $2', [
      enabled,
      made.projectId,
    ]);
  await enable(false);
  const since = server.clock.now().toISOString();
  await advance();
  await advance();
  const blocked = await readBackfill(id);
  assert.deepEqual(
    [blocked.status, blocked.problem?.since, blocked.counts.waiting],
    ['RUNNING', since, 7],
    JSON.stringify(blocked.problem),
  );
  server.clock.advance(11);
  await advance();
  assert.equal((await readBackfill(id)).problem?.since, since, 'since it was found first');
  await enable(true);
  await advance();
  assert.equal((await readBackfill(id)).counts.waiting, 7, 'not before ten seconds have passed');
  server.clock.advance(11);
  await advance();
  assert.equal((await runClaimed()).length, 7);
  await advance();
  const { status, problem } = await readBackfill(id);
  assert.deepEqual([status, problem], ['COMPLETED', undefined]);
  assert.deepEqual(await namesOf(found, id), [
    ...['backfill-created', 'backfill-blocked', 'backfill-unblocked', 'backfill-ended'],
  ]);
});

test('a backfill waits while the queue of its environment is full, and starts each tick once there is room', async () => {
  const bounded = await startTestServer({ startsAt: server.clock.now(), config: { queuedRuns: 3 } });
  const found = await createBackfilled(bounded);
  const { begun, readBackfill, runClaimed } = found;
  const advanceBounded = () => advanceBackfills(bounded.deps);
  const ids = [
    await begun({ ...week, concurrency: 7 }),
    await begun({ from: '2026-10-01T00:00:00Z', to: '2026-10-05T00:00:00Z', concurrency: 7 }),
  ] as const;
  const total = 7 + 4;
  let started = 0;
  for (let round = 0; started < total; round += 1) {
    assert.ok(round < total, 'each round starts some');
    await advanceBounded();
    await advanceBounded();
    const states = await Promise.all(ids.map(readBackfill));
    const blocked = states.filter(({ counts }) => counts.waiting > 0);
    for (const { status, problem } of blocked) {
      assert.deepEqual([status, problem?.code], ['RUNNING', 'queue-full']);
      assert.match(problem?.detail ?? '', /3 runs .*"dev"/);
    }
    const lost = states.reduce((sum, { counts }) => sum + counts.skipped + counts.failed, 0);
    assert.equal(lost, 0);
    const claimed = (await runClaimed()).length;
    assert.ok(claimed <= 3, `${claimed} runs waited`);
    started += claimed;
    bounded.clock.advance(11);
  }
  await advanceBounded();
  const outcomes = await Promise.all(ids.map(readBackfill));
  assert.deepEqual(
    outcomes.map(({ status, problem, counts }) => [status, problem, counts.succeeded]),
    [
      ['COMPLETED', undefined, 7],
      ['COMPLETED', undefined, 4],
    ],
  );
  for (const id of ids) {
    const names = (await found.eventsOf(id)).map(({ eventName }) => eventName);
    assert.ok(names.includes('backfill-blocked') && names.includes('backfill-unblocked'), names.join());
  }
});

test('a blocked backfill does not wait longer if the clock is set back', async () => {
  const { made, begun, readBackfill } = await createBackfilled(server);
  const enable = (enabled: boolean) =>
    server.database.query('update artifact_version set enabled = $1 where project_id = $2', [
      enabled,
      made.projectId,
    ]);
  const id = await begun(week);
  await enable(false);
  await advance();
  await enable(true);
  server.clock.advance(-3_600);
  await advance();
  assert.equal((await readBackfill(id)).counts.running, 1);
  server.clock.advance(3_600);
});

test('who may start and cancel a backfill', async () => {
  const { account, made, backfills, begun } = await createBackfilled(server);
  const { projectId } = made;
  const operator = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'OPERATOR' });
  const elsewhere = await account.actor('MEMBER', { projectId, environmentName: 'prod', role: 'OPERATOR' });
  const viewer = await account.actor('MEMBER', { projectId, role: 'VIEWER' });
  const id = await begun(week);
  for (const client of [elsewhere, viewer]) {
    requireProblem(await client.post(backfills, week), 403, 'forbidden');
    requireProblem(await client.patch(`${backfills}/${id}`, { status: 'CANCELLED' }), 403, 'forbidden');
  }
  assert.equal((await viewer.get(`${backfills}/${id}`)).status, 200);
  assert.equal((await operator.post(backfills, week)).status, 201);
  assert.equal((await operator.patch(`${backfills}/${id}`, { status: 'CANCELLED' })).status, 200);
  await advance();
});
