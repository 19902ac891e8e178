/** What runs use is counted once, on the day on which it was used, whoever dies. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { EtlUserConsumption } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createConsuming, describeDays, range } from '../../../testing/consuming-project.ts';
import { createPlace } from '../../../testing/place.ts';
import { claimSingle, completed, passTime } from '../../../testing/runnable-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createEndedTestExecution } from '../../../testing/tested-project.ts';
import { applyRetention } from '../../kernel/retention/retention.ts';
import { createConsumptionRetention } from './consumption.retention.ts';
import { countConsumption } from './counting.ts';

const startsAt = new Date('2026-11-20T10:00:00.000Z');
const prices = {
  orchestration: { perHour: 36 },
  script: { perHour: 360, perRun: 1 },
  transformation: { perHour: 36, perMillionRows: 1_000_000, perGigabyte: 1_000 },
};
const settings = { HEADGATE_PRICES: JSON.stringify({ ...prices, perUser: 2.5 }) };
const server = await startTestServer({ startsAt, settings });
const second = await startTestServer({ database: server.database, startsAt, settings });
const { clock } = server;

/** Moves the clock to so many seconds before the next midnight in UTC. */
function moveBeforeMidnight(seconds: number): void {
  const day = 86_400;
  const passed = (clock.now().getTime() / 1_000) % day;
  clock.advance((2 * day - passed - seconds) % day);
}

test('a run is counted by pipeline and kind, with its credits', async () => {
  const { run, read, projectId, projectName } = await createConsuming(server);
  await run(10, { rowCount: 5 });
  await run(20, { rowCount: 7, componentType: 'python-script' });
  const [day, ...others] = await read();
  assert.deepEqual(others, []);
  assert.ok(day);
  assert.deepEqual(
    [day.consumedFrom, day.consumedBefore],
    ['2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z'],
  );
  const pipelineName = 'main.orch.yaml';
  const dimensions = { pipelineName, projectId, projectName, environment: 'dev' };
  const none = { bytes: 0, inputTokens: 0, outputTokens: 0 };
  assert.deepEqual(day.consumption, [
    {
      consumptionType: 'orchestration',
      dimensions,
      credits: 0.1,
      units: { ...none, seconds: 10, rows: 5, runs: 2 },
    },
    {
      consumptionType: 'script',
      dimensions,
      credits: 2,
      units: { ...none, seconds: 20, rows: 7, runs: 0 },
    },
  ]);
});

test('a child pipeline is counted under its own name, and an iterator only by its iterations', async () => {
  const { begin, read, instance, stepOf } = await createConsuming(server);
  const { id, work } = await begin();
  const child = { id: randomUUID(), name: 'children/clean.tran.yaml' };
  const loop = stepOf(id, 30, { rowCount: 8 });
  const restart = { began: 0, parent: loop.stepId };
  const steps = [
    loop,
    stepOf(id, 30, { childPipeline: child, restart }),
    stepOf(child.id, 12, { rowCount: 4, byteCount: 2_000_000 }),
    stepOf(child.id, 3, { rowCount: 4, status: 'FAILED' }),
    stepOf(child.id, 100, { status: 'SKIPPED' }),
  ];
  await instance.report(work, { type: 'progress', steps });
  await instance.report(work, completed);
  const results = await read();
  assert.deepEqual(describeDays(results), [
    '2026-11-20 children/clean.tran.yaml transformation: 1 runs, 15 s, 8 rows',
    '2026-11-20 main.orch.yaml orchestration: 1 runs, 0 s, 0 rows',
  ]);
  const [cleaned] = results[0]?.consumption ?? [];
  assert.deepEqual([cleaned?.credits, cleaned?.units.bytes], [0.15 + 8 + 2, 2_000_000]);
});

test('a report that is sent twice is counted once', async () => {
  const { begin, read, instance, stepOf } = await createConsuming(server);
  const { id, work } = await begin();
  const progress = { type: 'progress' as const, steps: [stepOf(id, 10, { rowCount: 1 })] };
  for (const sequence of [2, 2, 3]) await instance.report(work, progress, sequence);
  for (const sequence of [4, 4]) await instance.report(work, completed, sequence);
  const late = await instance.report(work, completed, 5);
  assert.ok(!late.accepted);
  await read();
  await instance.report(work, completed, 4);
  assert.deepEqual(describeDays(await read()), [
    '2026-11-20 main.orch.yaml orchestration: 1 runs, 10 s, 1 rows',
  ]);
});

test('what a lost agent had used counts until its lease expired', async () => {
  const { begin, read, instance, stepOf, status } = await createConsuming(server);
  const { id, work } = await begin();
  const { finishedAt: _, ...open } = stepOf(id, 100, { status: 'RUNNING' });
  await instance.report(work, { type: 'progress', steps: [stepOf(id, 10, { rowCount: 3 }), open] });
  const { leaseSeconds, graceSeconds } = server.deps.times;
  await passTime(server, leaseSeconds + graceSeconds + 20);
  assert.equal(await status(id), 'FAILED');
  const [entry] = (await read())[0]?.consumption ?? [];
  assert.equal(entry?.units.rows, 3);
  const seconds = entry?.units.seconds ?? 0;
  assert.ok(seconds >= 110 && seconds <= 110 + leaseSeconds + 5, `${seconds} s`);
});

test('a run that no agent began is not counted', async () => {
  const { start, cancel, read, instance } = await createConsuming(server);
  await cancel(await start());
  await passTime(server, 5);
  const id = await start();
  const work = await claimSingle(instance);
  assert.equal(work.workId, id);
  await passTime(server, server.deps.times.leaseSeconds + server.deps.times.graceSeconds + 10);
  assert.deepEqual(await read(), []);
});

test('what a run used before midnight is of the day before', async () => {
  const { begin, read, instance, stepOf } = await createConsuming(server);
  moveBeforeMidnight(60);
  const today = clock.now().toISOString().slice(0, 10);
  const { id, work } = await begin();
  clock.advance(30);
  await instance.report(work, { type: 'progress', steps: [stepOf(id, 30)] });
  clock.advance(50);
  const tomorrow = clock.now().toISOString().slice(0, 10);
  await instance.report(work, { type: 'progress', steps: [stepOf(id, 50)] });
  await instance.report(work, completed);
  assert.deepEqual(describeDays(await read()), [
    `${today} main.orch.yaml orchestration: 0 runs, 30 s, 0 rows`,
    `${tomorrow} main.orch.yaml orchestration: 1 runs, 50 s, 0 rows`,
  ]);
  assert.deepEqual(await read(`consumedFrom=${tomorrow}&consumedBefore=2027-02-01`), (await read()).slice(1));
  assert.deepEqual(
    await read(`consumedFrom=${today}&consumedBefore=${tomorrow}`),
    (await read()).slice(0, 1),
  );
});

test('a clock of an agent that is ahead counts nothing in the future', async () => {
  const { begin, read, instance, stepOf } = await createConsuming(server);
  const { id, work } = await begin();
  const finishedAt = new Date(clock.now().getTime() + 80_000_000).toISOString();
  await instance.report(work, { type: 'progress', steps: [stepOf(id, 10, { finishedAt })] });
  await instance.report(work, completed);
  const today = clock.now().toISOString().slice(0, 10);
  assert.deepEqual(describeDays(await read()), [
    `${today} main.orch.yaml orchestration: 1 runs, 10 s, 0 rows`,
  ]);
});

test('two servers that count at the same time count each run once', async () => {
  const { run, read } = await createConsuming(server);
  for (let round = 0; round < 5; round++) {
    await run(1);
    const both = [server, second].flatMap(({ deps }) => [countConsumption(deps), countConsumption(deps)]);
    await Promise.all(both);
  }
  const [entry, ...others] = describeDays(await read());
  assert.match(entry ?? '', /: 5 runs, 5 s/);
  assert.deepEqual(others, []);
});

test('the consumption of a deleted project remains, also of what ran then', async () => {
  const { begin, read, instance, stepOf, admin, made, projectId, projectName } =
    await createConsuming(server);
  const { id, work } = await begin();
  await instance.report(work, { type: 'progress', steps: [stepOf(id, 40)] });
  assert.equal((await admin.delete(made.path)).status, 204);
  const [entry] = (await read())[0]?.consumption ?? [];
  assert.deepEqual([entry?.dimensions.projectId, entry?.dimensions.projectName], [projectId, projectName]);
  assert.deepEqual([entry?.units.runs, entry?.units.seconds], [1, 40]);
});

test('tests count for the pipeline that they test', async () => {
  const account = await server.account();
  const found = await createConsuming(server, account);
  await createEndedTestExecution(await createPlace(account, { now: clock.now() }));
  const today = clock.now().toISOString().slice(0, 10);
  assert.deepEqual(describeDays(await found.read()), [
    `${today} main.orch.yaml test: 2 runs, 0.071 s, 0 rows`,
  ]);
});

test('who started runs is charged once a period, and schedules count for nobody', async () => {
  const { run, read, admin, account } = await createConsuming(server);
  await run(1);
  await run(1);
  await read();
  const users = (query: string) => admin.get<EtlUserConsumption>(`/consumption/etl-users?${query}`);
  const query = 'consumedFrom=2026-11-01T00:00:00.000Z&consumedBefore=2027-02-01T00:00:00Z';
  assert.deepEqual((await users(query)).body, {
    consumedFrom: '2026-11-01T00:00:00.000Z',
    consumedBefore: '2027-02-01T00:00:00.000Z',
    chargedUsers: [{ username: 'a SUPER_ADMIN' }],
    credits: 2.5,
  });
  const before = 'consumedFrom=2026-10-01T00:00:00.000Z&consumedBefore=2026-11-01T00:00:00.000Z';
  assert.deepEqual((await users(before)).body.chargedUsers, []);
  requireProblem(await users('consumedFrom=2026-11-01&consumedBefore=2026-12-01'), 400, 'invalid-request');
  const member = await account.actor('ADMIN');
  requireProblem(await member.get(`/consumption?${range}`), 403, 'forbidden');
  const billing = await account.actor('BILLING_ADMIN');
  assert.equal((await billing.get(`/consumption?${range}`)).status, 200);
});

test('old days are removed, and the sum of this month stays', async () => {
  const { run, read, setBudget, readBudget } = await createConsuming(server);
  await setBudget({ monthlyCredits: 10 });
  await run(100);
  await read();
  clock.advance(3 * 86_400);
  await run(50);
  assert.equal((await read()).length, 2);
  const rules = createConsumptionRetention(2);
  await applyRetention(server.deps, rules, clock.now(), async () => undefined);
  assert.deepEqual(
    (await read()).map(({ consumption }) => consumption.map(({ units }) => units.seconds)),
    [[50]],
  );
  assert.ok((await readBudget()).spent >= 0.5);
});

test('a wrong range is refused with the reason', async () => {
  const { admin } = await createConsuming(server);
  const ask = (from: string, before: string) =>
    admin.get(`/consumption?consumedFrom=${from}&consumedBefore=${before}`);
  const missing = requireProblem(await admin.get('/consumption'), 400, 'invalid-request');
  assert.match(JSON.stringify(missing.violations), /consumedFrom.*consumedBefore/s);
  const wrong = requireProblem(await ask('2026-02-30', '2026-03-01'), 400, 'invalid-request');
  assert.match(JSON.stringify(wrong.violations), /query\.consumedFrom: must be a date such as 2026-01-31/);
  requireProblem(await ask('2026-11-02', '2026-11-02'), 422, 'consumption-range');
  requireProblem(await ask('2026-11-03', '2026-11-02'), 422, 'consumption-range');
  const long = requireProblem(await ask('2020-01-01', '2026-11-02'), 422, 'consumption-range');
  assert.match(long.detail, /at most 366 days/);
});
