/**
 * Retention deletes old rows in small batches, and keeps rows that are in use, younger, or of another kind.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { PipelineExecution, Step } from '@headgate/contract';
import type { Account } from '../../testing/account.ts';
import { createInstance, type Said } from '../../testing/agent.ts';
import { requireProblem } from '../../testing/client.ts';
import { smallPipeline, upload } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';
import { removeExpiredAnswers } from '../kernel/endpoint/idempotency.ts';
import { applyRetention, batchRows, type Rest, type RetentionRule } from '../kernel/retention/retention.ts';
import { eventRetention } from '../records/events/event.retention.ts';
import { eventNumberingJob } from '../records/events/log/event-numbering.ts';
import { createExecutionRetention } from '../runtime/executions/execution.retention.ts';

const server = await startTestServer();
const { deps, clock, database } = server;
const day = 86_400;
const noRest: Rest = async () => undefined;
const rulesOf = (rules: readonly RetentionRule[]) => (kind: string) => {
  const rule = rules.find((each) => each.kind === kind);
  assert.ok(rule);
  return rule;
};
const ruleOf = rulesOf(createExecutionRetention({ executionDays: 30, logDays: 10 }));
const [logs, executions] = [ruleOf('execution-logs'), ruleOf('executions')];

const apply = (rule: RetentionRule, rest = noRest) => applyRetention(deps, [rule], clock.now(), rest);

/** A project, and an agent that reports one step for each execution. */
async function scene() {
  const account = await server.account();
  const agent = createInstance(await account.agent('the agent', { status: 'running' }));
  await agent.hello();
  const project = await account.project();
  await upload(account.admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  const path = `${project.path}/pipeline-executions`;
  async function started(): Promise<{ id: string; say: (said: Said) => Promise<unknown> }> {
    const body = { pipelineName: 'main', environmentName: 'dev' };
    const { pipelineExecutionId: id } = (
      await account.admin.post<{ pipelineExecutionId: string }>(path, body)
    ).body;
    const [work] = (await agent.claim(1)).work;
    assert.ok(work);
    const step: Step = {
      stepId: randomUUID(),
      pipelineRunId: id,
      name: 'Load',
      componentType: 'file-load',
      status: 'SUCCESS',
      startedAt: clock.now().toISOString(),
    };
    await agent.report(work, { type: 'started' });
    const printed = { stepId: step.stepId, timestamp: step.startedAt, stream: 'stdout', text: 'a' } as const;
    await agent.report(work, {
      type: 'progress',
      steps: [step],
      lines: [{ ...printed, sequence: 1 }],
      variables: [{ pipelineRunId: id, variables: [{ name: 'n', type: 'TEXT', source: 'default' }] }],
    });
    return { id, say: (said) => agent.report(work, said) };
  }
  const read = (id: string) => account.admin.get<PipelineExecution>(`${path}/${id}`);
  const stepsOf = async (id: string) =>
    (await account.admin.get<{ results: unknown[] }>(`${path}/${id}/steps`)).body.results.length;
  return { started, read, stepsOf };
}

const success: Said = { type: 'completed', outcome: { status: 'SUCCESS' } };

test('the logs of an execution are deleted first, then the execution, each some days after its end', async () => {
  const { started, read, stepsOf } = await scene();
  const early = await started();
  await early.say(success);
  clock.advance(9 * day);
  const late = await started();
  await late.say(success);
  clock.advance(2 * day);

  assert.equal(await apply(logs), 1);
  assert.equal(await apply(executions), 0);
  assert.deepEqual([await stepsOf(early.id), await stepsOf(late.id)], [0, 1]);
  assert.equal((await read(early.id)).body.status, 'SUCCESS');

  clock.advance(20 * day);
  assert.equal(await apply(logs), 1);
  assert.equal(await apply(executions), 1);
  requireProblem(await read(early.id), 404, 'execution-not-found');
  assert.equal((await read(late.id)).status, 200);
});

test('a running execution and its logs are kept, however old; the age counts from the end', async () => {
  const { started, read, stepsOf } = await scene();
  const running = await started();
  clock.advance(100 * day);
  await apply(logs);
  await apply(executions);
  assert.equal(await stepsOf(running.id), 1);
  await running.say(success);
  await apply(logs);
  await apply(executions);
  assert.equal(await stepsOf(running.id), 1);
  assert.equal((await read(running.id)).body.status, 'SUCCESS');
});

test('an execution is deleted after its steps, and steps are never kept longer than it', async () => {
  const { started, read } = await scene();
  const run = await started();
  await run.say(success);
  clock.advance(31 * day);
  const alikeOf = rulesOf(createExecutionRetention({ executionDays: 30, logDays: undefined }));
  const [alike, rule] = [alikeOf('execution-logs'), alikeOf('executions')];
  assert.equal(await apply(rule), 0, 'it still has steps');
  assert.ok((await apply(alike)) > 0);
  assert.ok((await apply(rule)) > 0);
  requireProblem(await read(run.id), 404, 'execution-not-found');
});

test('log lines and variables are deleted before their execution, some days after its end', async () => {
  const { started } = await scene();
  const run = await started();
  const rules = [ruleOf('execution-log-lines'), ruleOf('execution-variables')];
  clock.advance(100 * day);
  for (const rule of rules) assert.equal(await apply(rule), 0, 'it is running');
  await run.say(success);
  clock.advance(11 * day);
  for (const rule of rules) assert.ok((await apply(rule)) > 0);
  for (const table of ['execution_log_line', 'execution_variables'])
    assert.deepEqual(await database.query(`select from ${table} where execution_id = '${run.id}'`), []);
});

/** Writes events of a busy account, one a second up to now. */
async function fill({ accountId }: Account, count: number): Promise<void> {
  await database.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id)
     select $1, $2::timestamptz - n * interval '1 second', gen_random_uuid(), 'variable-updated', 'system', 'variable', 'x'
     from generate_series(1, $3::integer) n`,
    [accountId, clock.now(), count],
  );
  while (await eventNumberingJob(deps).run(noRest));
}

async function eventsOf({ accountId }: Account): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'select count(*)::int as count from event where account_id = $1',
    [accountId],
  );
  return row?.count ?? 0;
}

/** Ages and deletes all rows, so that a test sees only its own. */
async function forgetAll(): Promise<void> {
  clock.advance(400 * day);
  await apply(eventRetention(365));
}

test('events of all accounts are deleted by age, in batches with a rest after each', async () => {
  await forgetAll();
  const [one, other] = [await server.account(), await server.account()];
  await fill(one, 2 * batchRows + 100);
  await fill(other, 10);
  clock.advance(366 * day);
  await fill(one, 5);
  const before = await eventsOf(one);
  const left: number[] = [];
  const rests: number[] = [];
  const removed = await apply(eventRetention(365), async (milliseconds) => {
    rests.push(milliseconds);
    left.push((await eventsOf(one)) + (await eventsOf(other)));
  });
  assert.deepEqual([await eventsOf(one), await eventsOf(other)], [5, 0]);
  assert.ok(removed >= 2 * batchRows + 110);
  assert.ok(rests.every((milliseconds) => milliseconds >= 50));
  const steps = left.map((rows, index) => (left[index - 1] ?? before + 11) - rows);
  assert.ok(
    steps.every((rows) => rows <= batchRows + 11),
    `${steps}`,
  );
  assert.ok(left.length >= 4, `${left}`);
  const { body } = await one.admin.get<{ total: number }>(
    `/events?from=${new Date(0).toISOString()}&to=${new Date(clock.now().getTime() + 1).toISOString()}`,
  );
  assert.equal(body.total, 5);
  assert.match(await deps.metrics.renderText(), /headgate_retention_removed_total\{kind="events"\} [1-9]/);
});

test('only one server deletes at a time, and another one continues when it stops', async () => {
  await forgetAll();
  const account = await server.account();
  await fill(account, 2 * batchRows);
  clock.advance(366 * day);
  const others: number[] = [];
  const stopping = new AbortController();
  const services = { ...deps, stopping: stopping.signal };
  const mine = await applyRetention(services, [eventRetention(365)], clock.now(), async () => {
    others.push(await apply(eventRetention(365)));
    stopping.abort();
  });
  assert.deepEqual(others, [0]);
  assert.equal(mine, batchRows);
  await apply(eventRetention(365));
  assert.equal(await eventsOf(account), 0);
});

test('with a retention of forever nothing is deleted', async () => {
  const account = await server.account();
  await fill(account, 3);
  clock.advance(10_000 * day);
  const before = await eventsOf(account);
  assert.equal(await apply(eventRetention(undefined)), 0);
  assert.equal(await eventsOf(account), before);
});

test('responses stored for idempotency keys are deleted after 24 hours', async () => {
  const account = await server.account();
  const { path } = await account.project();
  const write = (name: string) =>
    account.admin.post(
      `${path}/variables`,
      { name, type: 'TEXT', behaviour: 'SHARED' },
      { headers: { 'idempotency-key': name } },
    );
  await write('early');
  clock.advance(day - 60);
  await write('late');
  assert.equal(await removeExpiredAnswers(deps.database.read, clock.now()), 0);
  clock.advance(120);
  assert.equal(await removeExpiredAnswers(deps.database.read, clock.now()), 1);
  assert.equal((await write('late')).headers['idempotency-replayed'], 'true');
});
