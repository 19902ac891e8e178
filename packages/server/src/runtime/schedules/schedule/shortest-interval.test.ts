import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineExecution } from '@headgate/contract';
import { requireProblem } from '../../../../testing/client.ts';
import { createScheduled, fireAll } from '../../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../../testing/server.ts';

const server = await startTestServer({
  startsAt: new Date('2026-11-20T10:00:00.000Z'),
  config: { scheduleIntervalSeconds: 10, queuedRuns: 2 },
});

const refused = [
  { intervalExpression: { interval: 9, unit: 'SECONDS' } },
  { cronExpression: '* * * * * ?' },
  { cronExpression: '* *\t* * * ?' },
  { cronExpression: '*\u00a0* * * * ?' },
  { cronExpression: '0,55 * * * * ?' },
  { cronExpression: '5,10 0 6 * * ?' },
];
const accepted = [
  { intervalExpression: { interval: 10, unit: 'SECONDS' } },
  { cronExpression: '0/10 * * * * ?' },
  { cronExpression: '* * * * *' },
];

test('a schedule with a shorter interval than the operator allows is refused, also as an update', async () => {
  const { create, created, patch } = await createScheduled(server);
  const id = await created();
  for (const expression of refused) {
    const { detail } = requireProblem(await create(expression), 422, 'schedule-too-frequent');
    assert.match(detail, /^body\.schedule\.(cron|interval)Expression .*HEADGATE_SCHEDULE_INTERVAL_SECONDS/);
    const example =
      'cronExpression' in expression ? /such as "0 \* \* \* \* \?"/ : /such as \{"interval": 10,/;
    assert.match(detail, example);
    requireProblem(await patch(id, expression), 422, 'schedule-too-frequent');
  }
  for (const expression of accepted) assert.equal((await create(expression)).status, 201);
});

test('a schedule keeps a shorter interval that it had before, with a warning', async () => {
  const { admin, created, patch, schedules } = await createScheduled(server);
  const id = await created();
  await server.database.query(`update schedule set cron_expression = '* * * * * ?' where schedule_id = $1`, [
    id,
  ]);
  const patched = await patch(id, { name: 'still each second', nam: 'unknown' });
  assert.equal(patched.status, 200);
  const read = await admin.get(`${schedules}/${id}`);
  for (const { headers } of [patched, read])
    assert.match(
      String(headers['headgate-warning']),
      /ticks 1 s apart; the shortest interval is 10 s \(HEADGATE_SCHEDULE_INTERVAL_SECONDS\)/,
    );
  assert.match(
    String(patched.headers['headgate-warning']),
    /body\.nam is unknown .*; The schedule has ticks/,
  );

  const mended = await patch(id, { cronExpression: '0/10 * * * * ?' });
  assert.equal(mended.status, 200);
  assert.equal(mended.headers['headgate-warning'], undefined);
  assert.equal((await admin.get(`${schedules}/${id}`)).headers['headgate-warning'], undefined);
});

test('a tick is SKIPPED while the queue of its environment is full', async () => {
  const { created, runsOf } = await createScheduled(server);
  const id = await created({ cronExpression: '* * * * *' });
  const runs: PipelineExecution[] = [];
  for (let tick = 0; tick < 3; tick++) {
    server.clock.advance(60);
    await fireAll(server);
  }
  runs.push(...(await runsOf(id)));
  assert.deepEqual(
    runs.map(({ status }) => status),
    ['RUNNING', 'RUNNING', 'SKIPPED'],
  );
  assert.match(runs[2]?.message ?? '', /queue of the environment "dev" is full/);
});
