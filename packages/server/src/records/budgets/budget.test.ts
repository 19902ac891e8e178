/** Budgets of projects: what is spent, what is announced, and what does not start any more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountEventItem, Budget, Page, PipelineExecution } from '@headgate/contract';
import { createBackfilled } from '../../../testing/backfilled-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createConsuming } from '../../../testing/consuming-project.ts';
import { createFailedExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import { createScheduled, fireAll } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { advanceBackfills } from '../../runtime/backfills/backfill-rounds.ts';
import { countConsumption } from '../consumption/counting.ts';

const startsAt = new Date('2026-11-20T10:00:00.000Z');
// One credit for a second.
const settings = { HEADGATE_PRICES: '{"orchestration": {"perHour": 3600}}' };
const server = await startTestServer({ startsAt, settings });
const second = await startTestServer({ database: server.database, startsAt, settings });
const { clock } = server;

type Found = Awaited<ReturnType<typeof createConsuming>>;

const startBody = { pipelineName: 'main', environmentName: 'dev' };
const start = ({ admin, made, agent }: Found) =>
  admin.post<{ pipelineExecutionId: string }>(`${made.path}/pipeline-executions`, {
    ...startBody,
    agentId: agent.agentId,
  });

/** The names of the events about the budget, oldest first. */
async function listEvents({ admin, projectId }: Pick<Found, 'admin' | 'projectId'>): Promise<string[]> {
  const all = `/events?from=2026-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&size=100&projectId=${projectId}`;
  const { results } = (await admin.get<Page<AccountEventItem>>(all)).body;
  return results
    .map(({ eventName }) => eventName)
    .filter((name) => name.startsWith('budget-'))
    .toReversed();
}

test('a budget is created, read, replaced and deleted', async () => {
  const found = await createConsuming(server);
  const { admin, budget, setBudget, readBudget, account, projectId } = found;
  requireProblem(await admin.get(budget), 404, 'budget-not-found');
  const month = clock.now().toISOString().slice(0, 7);
  const made = { monthlyCredits: 100, warnAt: 0.8, spent: 0, month };
  assert.deepEqual(await setBudget({ monthlyCredits: 100 }), made);
  const { etag } = await admin.get(budget);
  const changed = { monthlyCredits: 50, warnAt: 0.5, stopAt: 1.5 };
  const put = (headers: Record<string, string>) => admin.send('PUT', budget, { headers, body: changed });
  assert.equal((await put({ 'if-match': etag ?? '' })).status, 200);
  requireProblem(await put({ 'if-match': etag ?? '' }), 412, 'etag-mismatch');
  assert.deepEqual(await readBudget(), { ...changed, spent: 0, month });
  const order = await admin.send('PUT', budget, { body: { monthlyCredits: 1, stopAt: 0.5 } });
  assert.match(
    requireProblem(order, 422, 'budget-order').detail,
    /stopAt is 0.5 and warnAt is 0.8 .*: stopAt must be at least warnAt/,
  );
  const owner = await account.actor('MEMBER', { projectId, role: 'OWNER' });
  assert.equal((await owner.get<Budget>(budget)).body.monthlyCredits, 50);
  requireProblem(await owner.send('PUT', budget, { body: changed }), 403, 'forbidden');
  assert.equal((await admin.delete(budget)).status, 204);
  requireProblem(await admin.delete(budget), 404, 'budget-not-found');
  assert.deepEqual(await listEvents(found), ['budget-written', 'budget-written', 'budget-deleted']);
});

test('a budget warns once and is used up once in a month, on whatever server', async () => {
  const found = await createConsuming(server);
  const { run, setBudget, readBudget } = found;
  await setBudget({ monthlyCredits: 100, stopAt: 1 });
  // The clocks of the servers differ, and so does the order.
  const listSorted = async () => (await listEvents(found)).toSorted();
  const count = () => Promise.all([server, second].map(({ deps }) => countConsumption(deps)));
  await run(70);
  await count();
  assert.deepEqual(await listEvents(found), ['budget-written']);
  await run(20);
  await count();
  assert.equal((await readBudget()).spent, 90);
  assert.deepEqual(await listSorted(), ['budget-warned', 'budget-written']);
  await run(5);
  await run(20);
  await count();
  assert.equal((await readBudget()).spent, 115);
  const all = ['budget-limit-reached', 'budget-warned', 'budget-written'];
  assert.deepEqual(await listSorted(), all);
  await setBudget({ monthlyCredits: 1, stopAt: 1 });
  assert.deepEqual(await listSorted(), [...all, 'budget-written']);
});

test('the least numbers are limits, too', async () => {
  const { admin, budget } = await createConsuming(server);
  const body = { monthlyCredits: 5e-324, warnAt: 5e-324, stopAt: 5e-324 };
  assert.equal((await admin.send('PUT', budget, { body })).status, 200);
});

test('first budgets at the same time are accepted one after the other, or refused as a conflict', async () => {
  const found = await createConsuming(server);
  for (let round = 0; round < 10; round += 1) {
    const put = (monthlyCredits: number) =>
      found.admin.send('PUT', found.budget, { body: { monthlyCredits } });
    const answers = await Promise.all([put(1), put(2), put(3), put(4)]);
    for (const { status, text } of answers) assert.ok(status === 200 || status === 409, text);
    assert.ok(answers.some(({ status }) => status === 200));
    await found.admin.delete(found.budget);
  }
});

test('a budget that was raised warns again, once', async () => {
  const found = await createConsuming(server);
  const spend = async (seconds: number) => {
    await found.run(seconds);
    await found.read();
  };
  await found.setBudget({ monthlyCredits: 60, warnAt: 0.5 });
  await spend(70);
  const first = ['budget-written', 'budget-warned', 'budget-limit-reached'];
  assert.deepEqual(await listEvents(found), first);
  await found.setBudget({ monthlyCredits: 200, warnAt: 0.5 });
  await spend(10);
  assert.deepEqual(await listEvents(found), [...first, 'budget-written']);
  await spend(30);
  await spend(10);
  assert.deepEqual(await listEvents(found), [...first, 'budget-written', 'budget-warned']);
});

test('a new budget that is already spent says so at once', async () => {
  const found = await createConsuming(server);
  await found.run(70);
  await found.read();
  await found.setBudget({ monthlyCredits: 50 });
  assert.deepEqual(await listEvents(found), ['budget-written', 'budget-warned', 'budget-limit-reached']);
});

test('nothing starts beyond stopAt, until the budget is raised, lifted or deleted', async () => {
  const found = await createConsuming(server);
  const { admin, made, run, read, setBudget, budget } = found;
  await run(10);
  await setBudget({ monthlyCredits: 10, stopAt: 2 });
  assert.equal((await start(found)).status, 201, 'the budget is spent, but stops nothing yet');
  await found.instance.claim();
  await run(15);
  await read();
  const { detail } = requireProblem(await start(found), 409, 'budget-exceeded');
  assert.match(detail, /has spent 25 credits in 20\d\d-\d\d, and its budget stops starts at 20/);
  const tests = { scope: 'PROJECT', environmentName: 'dev' };
  requireProblem(await admin.post(`${made.path}/test-executions`, tests), 409, 'budget-exceeded');
  const task = {
    agentConfig: { name: 'data_engineer_agent', projectId: found.projectId },
    message: 'Load the orders.',
  };
  requireProblem(await admin.post('/ai/agents/tasks', task), 409, 'budget-exceeded');

  const liftedUntil = new Date(clock.now().getTime() + 60_000).toISOString();
  await setBudget({ monthlyCredits: 10, stopAt: 2, liftedUntil });
  assert.equal((await start(found)).status, 201);
  clock.advance(60);
  requireProblem(await start(found), 409, 'budget-exceeded');
  await setBudget({ monthlyCredits: 20, stopAt: 2 });
  assert.equal((await start(found)).status, 201);
  await setBudget({ monthlyCredits: 0, warnAt: 0, stopAt: 0 });
  requireProblem(await start(found), 409, 'budget-exceeded');
  await admin.delete(budget);
  assert.equal((await start(found)).status, 201);
});

test('another month begins with nothing spent', async () => {
  const found = await createConsuming(server);
  const { run, read, setBudget, readBudget } = found;
  await setBudget({ monthlyCredits: 10, stopAt: 1 });
  await run(15);
  await read();
  requireProblem(await start(found), 409, 'budget-exceeded');
  clock.advance(31 * 86_400);
  assert.equal((await readBudget()).spent, 0);
  await run(15);
  await read();
  assert.equal((await readBudget()).spent, 15);
  const once = ['budget-warned', 'budget-limit-reached'];
  assert.deepEqual(await listEvents(found), ['budget-written', ...once, ...once]);
});

test('starts at the moment in which the budget is used up either start or are refused', async () => {
  const found = await createConsuming(server);
  const { run, setBudget, readBudget } = found;
  await setBudget({ monthlyCredits: 10, stopAt: 1 });
  await run(15);
  const starts = Promise.all(Array.from({ length: 10 }, () => start(found)));
  await countConsumption(second.deps);
  for (const answer of await starts)
    if (answer.status !== 201) requireProblem(answer, 409, 'budget-exceeded');
  assert.equal((await readBudget()).spent, 15);
  requireProblem(await start(found), 409, 'budget-exceeded');
});

test('a failed run is not restarted beyond stopAt', async () => {
  const account = await server.account();
  const place = await createPlace(account);
  const failed = await createFailedExecution(place);
  const body = { monthlyCredits: 0, warnAt: 0, stopAt: 0 };
  await account.admin.send('PUT', `${place.project.path}/budget`, { body });
  const restart = { acceptEffects: ['Load orders'] };
  requireProblem(await account.admin.post(`${failed}/restart`, restart), 409, 'budget-exceeded');
  await account.admin.delete(`${place.project.path}/budget`);
  assert.equal((await account.admin.post(`${failed}/restart`, restart)).status, 201);
});

test('a backfill waits until its project may spend again', async () => {
  const found = await createBackfilled(server);
  const { admin, made, begun, readBackfill } = found;
  const budget = (body: object) => admin.send('PUT', `${made.path}/budget`, { body });
  const id = await begun({ from: '2026-11-01T00:00:00Z', to: '2026-11-03T00:00:00Z' });
  await budget({ monthlyCredits: 0, warnAt: 0, stopAt: 0 });
  await advanceBackfills(server.deps);
  const { counts, problem } = await readBackfill(id);
  assert.deepEqual([counts.waiting, problem?.code], [2, 'budget-exceeded']);
  await admin.delete(`${made.path}/budget`);
  clock.advance(600);
  await advanceBackfills(server.deps);
  assert.equal((await readBackfill(id)).counts.running, 1);
});

test('a tick is SKIPPED with the reason', async () => {
  const { created, runsOf, admin, made, schedules } = await createScheduled(server);
  const budget = (body: object) => admin.send('PUT', `${made.path}/budget`, { body });
  const id = await created({ cronExpression: '* * * * *' });
  assert.equal((await budget({ monthlyCredits: 0, warnAt: 0, stopAt: 0 })).status, 200);
  clock.advance(60);
  await fireAll(server);
  const [skipped, ...others] = (await runsOf(id)) as (PipelineExecution & { message?: string })[];
  assert.deepEqual([skipped?.status, others], ['SKIPPED', []]);
  assert.match(skipped?.message ?? '', /its budget stops starts at 0/);
  requireProblem(await admin.post(`${schedules}/${id}/run`, {}), 409, 'budget-exceeded');
  await budget({ monthlyCredits: 1, stopAt: 1 });
  clock.advance(60);
  await fireAll(server);
  assert.equal((await runsOf(id)).at(-1)?.status, 'RUNNING');
});
