/** Clocks that are set far forward and back, and schedules that are written while a tick is due. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheduled, fireAll } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { retimeAfterClockChange } from './clock-change.ts';

const server = await startTestServer({ startsAt: new Date('2026-11-20T10:00:30.000Z') });
const everyMinute = { cronExpression: '* * * * *' };
const year = 365 * 86_400;

async function retimeAll(): Promise<void> {
  while (await retimeAfterClockChange(server.deps));
}

function findNextMinute(): string {
  const now = server.clock.now().getTime();
  return new Date(now - (now % 60_000) + 60_000).toISOString();
}

test('a clock that was set far forward and back leaves no schedule silent', async () => {
  const { created, read, runsOf, patch } = await createScheduled(server);
  const [fired, paused] = [await created(everyMinute), await created(everyMinute)];
  server.clock.advance(year);
  const [later, written] = [await created(everyMinute), await created({ cronExpression: '0 4 * * *' })];
  await fireAll(server);
  await patch(paused, { scheduleEnabled: false });
  await patch(written, { cronTimezone: 'Europe/Oslo' });
  server.clock.advance(-year);
  await retimeAll();
  for (const id of [fired, later]) assert.equal((await read(id)).nextRunAt, findNextMinute());
  assert.match((await read(written)).nextRunAt ?? '', /^2026-11-21T03:00/);
  await patch(paused, { scheduleEnabled: true });
  assert.equal((await read(paused)).nextRunAt, findNextMinute());
  assert.ok(server.logLines.some((line) => line.includes('the clock was set back')));
  server.clock.advance(60);
  await fireAll(server);
  assert.equal((await runsOf(fired)).length, 2);
  assert.equal((await runsOf(later)).length, 1);
});

test('a clock that is set back by an hour is waited for', async () => {
  const { created, read } = await createScheduled(server);
  const id = await created(everyMinute);
  server.clock.advance(60);
  await fireAll(server);
  const next = (await read(id)).nextRunAt;
  server.clock.advance(-3_600);
  await retimeAll();
  assert.equal((await read(id)).nextRunAt, next);
  server.clock.advance(3_600);
});

test('a tick that is due runs although the times are changed before it is handled', async () => {
  const { created, patch, read, runsOf } = await createScheduled(server);
  const [changed, later, paused] = [
    await created(everyMinute),
    await created(everyMinute),
    await created(everyMinute),
  ];
  const due = findNextMinute();
  server.clock.advance(60);
  await patch(changed, { cronExpression: '0 0 1 1 *' });
  const effectiveFrom = '2027-06-01T00:00:00Z';
  await patch(later, { effectiveFrom });
  await patch(paused, { scheduleEnabled: false });
  await patch(paused, { scheduleEnabled: true });
  await fireAll(server);
  assert.deepEqual(
    (await runsOf(changed)).map((run) => run.scheduleTick),
    [due],
  );
  assert.equal((await read(changed)).nextRunAt, '2027-01-01T00:00:00.000Z');
  assert.deepEqual(await runsOf(later), [], 'no run before effectiveFrom');
  assert.deepEqual(await runsOf(paused), [], 'a pause drops the tick');
});
