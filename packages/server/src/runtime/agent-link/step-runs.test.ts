/** An agent can report steps only of its own work: other executions do not change. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ExecutionStep, Step } from '@headgate/contract';
import type { Account } from '../../../testing/account.ts';
import { createInstance, type Instance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import type { TestProject } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

/** A run held by an agent. */
async function held(account?: Account, project?: TestProject) {
  const made = await createPlace(account ?? (await server.account()));
  const place = { ...made, project: project ?? made.project };
  const instance = createInstance(place.agent);
  await instance.hello();
  const path = await createExecution(place);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  return { ...place, instance, path, work, id: work.workId };
}

type Held = Awaited<ReturnType<typeof held>>;

const stepOf = (pipelineRunId: string, input: Partial<Step> = {}): Step => ({
  stepId: randomUUID(),
  pipelineRunId,
  name: 'a step',
  componentType: 'sql-script',
  status: 'RUNNING',
  startedAt: server.clock.now().toISOString(),
  ...input,
});
const calling = (by: string, childId: string) =>
  stepOf(by, { childPipeline: { id: childId, name: 'child.orch.yaml' } });

function report({ instance, work }: { instance: Instance; work: Held['work'] }, ...steps: Step[]) {
  return instance.report(work, { type: 'progress', steps });
}

async function requireRefused(at: Held, ...steps: Step[]): Promise<void> {
  const result = await report(at, ...steps);
  assert.ok(!result.accepted && result.code === 'run-of-another-work', JSON.stringify(result));
  const named = steps.flatMap(({ pipelineRunId, childPipeline }) => [pipelineRunId, childPipeline?.id]);
  assert.ok(
    named.some((id) => id !== undefined && result.detail.includes(id)),
    result.detail,
  );
}

async function stepsOf({ account, project }: Held, runId: string) {
  const path = `${project.path}/pipeline-executions/${runId}/steps`;
  return account.admin.get<{ results: ExecutionStep[]; total: number }>(path);
}

test('a step of another agent’s execution is refused, in any project and account', async () => {
  const victim = await held();
  for (const attacker of [
    await held(victim.account, victim.project),
    await held(victim.account),
    await held(),
  ]) {
    await report(victim, stepOf(victim.id));
    await requireRefused(attacker, stepOf(victim.id));
    await requireRefused(attacker, stepOf(attacker.id), stepOf(victim.id));
    assert.equal(
      (await stepsOf(attacker, attacker.id)).body.total,
      0,
      'a report is applied completely or not at all',
    );
  }
  const { body } = await stepsOf(victim, victim.id);
  assert.deepEqual([body.total, body.results.length], [3, 3]);
});

test('a step of an unannounced run is refused', async () => {
  const at = await held();
  await requireRefused(at, stepOf(randomUUID()));
});

test('a child run accepts steps once its own work has announced it', async () => {
  const victim = await held();
  const child = randomUUID();
  const caller = calling(victim.id, child);
  assert.ok((await report(victim, caller)).accepted);
  assert.equal((await stepsOf(victim, child)).body.total, 0, 'announced, still without steps');
  assert.ok((await report(victim, stepOf(child))).accepted);
  for (const attacker of [await held(victim.account, victim.project), await held(victim.account)]) {
    await requireRefused(attacker, stepOf(child));
    await requireRefused(attacker, calling(attacker.id, child));
    await requireRefused(attacker, calling(attacker.id, child), stepOf(child));
  }
  const { body } = await stepsOf(victim, child);
  assert.deepEqual([body.total, body.results.length], [1, 1]);
  // A changed step is sent again completely. Without its child it is still the step that announced the
  // child.
  const { childPipeline: _, ...without } = caller;
  assert.ok((await report(victim, { ...without, status: 'SUCCESS' })).accepted);
  assert.ok((await report(victim, caller, stepOf(child))).accepted);
  assert.equal((await stepsOf(victim, child)).body.total, 2);
});

test('a child of a child, announced in the same report, accepts steps', async () => {
  const at = await held();
  const [child, grandchild] = [randomUUID(), randomUUID()];
  const steps = [stepOf(grandchild), calling(child, grandchild), calling(at.id, child)];
  assert.ok((await report(at, ...steps)).accepted);
  for (const run of [at.id, child, grandchild]) assert.equal((await stepsOf(at, run)).body.total, 1);
});

test('a child run cannot have the id of an execution or of another child run', async () => {
  const victim = await held();
  const attacker = await held(victim.account, victim.project);
  await requireRefused(attacker, calling(attacker.id, victim.id));
  await requireRefused(attacker, calling(attacker.id, attacker.id));
  const child = randomUUID();
  await requireRefused(attacker, calling(attacker.id, child), calling(attacker.id, child));
  assert.equal((await stepsOf(victim, victim.id)).body.total, 0);
});

test('if two works announce the same run at the same moment, one gets it', async () => {
  const one = await held();
  const other = await held(one.account, one.project);
  for (let round = 0; round < 10; round += 1) {
    const child = randomUUID();
    const answers = await Promise.all(
      [one, other].map(({ agent, instance, work, id }) =>
        agent.client.post<{ results: { accepted: boolean }[] }>('/reports', {
          instanceId: instance.instanceId,
          reports: [
            {
              workId: work.workId,
              epoch: work.epoch,
              sequence: round + 1,
              type: 'progress',
              steps: [calling(id, child)],
            },
          ],
        }),
      ),
    );
    const retained = answers.filter((answer) => answer.status === 200 && answer.body.results[0]?.accepted);
    assert.equal(retained.length, 1, answers.map((answer) => answer.text).join('\n'));
    for (const answer of answers.filter(({ status }) => status !== 200))
      requireProblem(answer, 409, 'concurrent-change');
  }
});

test('work of another kind has no steps', async () => {
  const at = await held();
  await server.database.query("update work set kind = 'secret-check' where work_id = $1", [at.id]);
  const result = await report(at, stepOf(at.id));
  assert.ok(!result.accepted && result.code === 'run-of-another-work', JSON.stringify(result));
});

async function requireEnded(at: Held, message: RegExp): Promise<void> {
  const { body } = await at.account.admin.get<{ status: string; message?: string }>(at.path);
  assert.equal(body.status, 'FAILED');
  assert.match(body.message ?? '', message);
}

test('work with more than 50,000 steps, or with too large messages, ends as FAILED', async () => {
  const at = await held();
  assert.ok((await report(at, stepOf(at.id))).accepted);
  await server.database.query(
    `insert into execution_step (account_id, execution_id, step_id, pipeline_run_id, name, component_type, status, started_at)
    select account_id, execution_id, gen_random_uuid(), execution_id, 's', 'sql', 'SUCCESS', now()
    from pipeline_execution, generate_series(1, 49998) where execution_id = $1`,
    [at.id],
  );
  const last = stepOf(at.id);
  assert.ok((await report(at, last)).accepted, 'step 50,000');
  assert.ok((await report(at, { ...last, status: 'SUCCESS' })).accepted, 'the same step again');
  const result = await report(at, stepOf(at.id));
  assert.ok(!result.accepted && result.code === 'too-many-steps', JSON.stringify(result));
  await requireEnded(at, /more than 50000 steps\. Split the pipeline/);

  const large = await held();
  assert.ok((await report(large, stepOf(large.id))).accepted);
  await server.database.query(
    "update execution_step set message = repeat('x', 268435456) where execution_id = $1",
    [large.id],
  );
  const refused = await report(large, stepOf(large.id, { message: 'x' }));
  assert.ok(!refused.accepted && refused.code === 'too-many-steps', JSON.stringify(refused));
  await requireEnded(large, /messages, statements and values of the work's steps have more than/);
});

test('work with implausible times of steps ends as FAILED', async () => {
  const now = server.clock.now().getTime();
  const day = 86_400_000;
  const time = (milliseconds: number) => new Date(now + milliseconds).toISOString();
  const past = -server.deps.times.runLimitSeconds * 1_000 - day - 60_000;
  const implausible: Partial<Step>[] = [
    { startedAt: time(0), finishedAt: time(-1), status: 'SUCCESS' },
    { startedAt: time(day + 60_000) },
    { startedAt: time(past) },
    { startedAt: '0000-01-01T00:00:00Z' },
    { startedAt: time(0), finishedAt: time(day + 60_000), status: 'SUCCESS' },
  ];
  for (const input of implausible) {
    const at = await held();
    assert.ok(
      (await report(at, stepOf(at.id, { startedAt: time(-3_600_000), finishedAt: time(0) }))).accepted,
    );
    const result = await report(at, stepOf(at.id, input));
    assert.ok(!result.accepted && result.code === 'implausible-time', JSON.stringify([input, result]));
    assert.equal((await stepsOf(at, at.id)).body.total, 1);
    await requireEnded(at, /Set the clock|before its startedAt/);
  }
});
