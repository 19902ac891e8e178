/** Alert rules: what raises an alert, once each, and who gets its event. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  type Alert,
  type AlertRule,
  alertReasonLimit,
  type EventLogPart,
  type Page,
  type Schedule,
} from '@headgate/contract';
import { createAlertScene } from '../../../testing/alert-scene.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { fireDueSchedules } from '../schedules/schedule-ticks.ts';
import { createAlertRetention } from './alert.retention.ts';
import { raiseDueAlerts } from './alert-turns.ts';

const server = await startTestServer();
const { clock, deps } = server;

const createScene = () => createAlertScene(server);

test('a budget that warns and that is used up raises an alert of each, once a month', async () => {
  const { admin, made, rules, createRule, listAlerts, run } = await createScene();
  const rule = await createRule({ condition: { type: 'BUDGET' } });
  const failed = await createRule({ condition: { type: 'FAILED' } });
  const budget = (body: object) => admin.send('PUT', `${made.path}/budget`, { body });
  await budget({ monthlyCredits: 100 });
  await run('SUCCESS');
  assert.deepEqual(await listAlerts(rule), []);
  await budget({ monthlyCredits: 0, warnAt: 0, stopAt: 0 });
  await budget({ monthlyCredits: 0, warnAt: 0, stopAt: 0 });
  const alerts = await listAlerts(rule);
  assert.deepEqual(
    alerts.map(({ environmentName, pipelineName }) => [environmentName, pipelineName]),
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
  const reasons = alerts.map(({ reason }) => reason).toSorted();
  assert.match(reasons[0] ?? '', /^The project has spent 0 of the 0 credits of its budget in 20\d\d-\d\d\.$/);
  assert.match(reasons[1] ?? '', /\. Nothing more starts\.$/);
  assert.deepEqual(await listAlerts(failed), []);
  const narrow = { name: 'narrow', condition: { type: 'BUDGET' }, environmentName: 'dev' };
  const refused = requireProblem(await admin.post(rules, narrow), 422, 'alert-filter');
  assert.match(refused.detail, /^environmentName has no meaning/);
  const patched = await admin.patch(`${rules}/${rule.alertRuleId}`, { pipelineName: 'main' });
  requireProblem(patched, 422, 'alert-filter');
});

test('a failed execution raises an alert, and the next success raises one of recovery', async () => {
  const { admin, createRule, run, listAlerts } = await createScene();
  const failed = await createRule({ condition: { type: 'FAILED' } });
  const recovered = await createRule({ condition: { type: 'RECOVERED' } });
  await run('SUCCESS');
  assert.deepEqual(await listAlerts(failed), []);
  const id = await run('FAILED');
  const [alert] = await listAlerts(failed);
  assert.equal(alert?.pipelineExecutionId, id);
  assert.match(alert?.reason ?? '', /^The pipeline ".*" in "dev" failed: no such table$/);
  assert.deepEqual(await listAlerts(recovered), []);
  await run('SUCCESS');
  await run('SUCCESS');
  const found = await listAlerts(recovered);
  assert.equal(found.length, 1);
  assert.match(found[0]?.reason ?? '', /succeeded, after the execution before it failed\.$/);
  assert.equal((await listAlerts(failed)).length, 1);
  const raised = (await admin.get<EventLogPart>('/events?after=oldest&eventName=alert-raised&limit=100')).body
    .results;
  assert.deepEqual(
    raised.map((event) => event.eventSubjectName),
    [failed.name, recovered.name],
  );
  assert.equal(raised[0]?.eventEnvironmentName, 'dev');
});

test('servers that judge at the same time raise each alert once', async () => {
  const { createRule, run, countAlerts } = await createScene();
  const rule = await createRule({ condition: { type: 'FAILED' } });
  for (let round = 0; round < 3; round += 1) await run('FAILED');
  await Promise.all(Array.from({ length: 6 }, () => raiseDueAlerts(deps)));
  assert.equal(await countAlerts(rule), 3);
});

test('a rule is about the environment and the pipeline that it names, and about what happens after it was made', async () => {
  const { createRule, run, countAlerts } = await createScene();
  await run('FAILED');
  clock.advance(1);
  const failed = { condition: { type: 'FAILED' } };
  const rules = {
    all: await createRule(failed),
    other: await createRule({ ...failed, environmentName: 'prod' }),
    here: await createRule({ ...failed, environmentName: 'dev' }),
    pipeline: await createRule({ ...failed, pipelineName: 'nothing' }),
    disabled: await createRule({ ...failed, enabled: false }),
  };
  clock.advance(1);
  await run('FAILED');
  const counts: Record<string, number> = {};
  for (const [name, rule] of Object.entries(rules)) counts[name] = await countAlerts(rule);
  assert.deepEqual(counts, { all: 1, other: 0, here: 1, pipeline: 0, disabled: 0 });
});

test('an execution that takes long raises an alert while it runs, and not again at its end', async () => {
  const { createRule, started, instance, countAlerts, run } = await createScene();
  const rule = await createRule({ condition: { type: 'LONGER_THAN', minutes: 5 } });
  await run('SUCCESS', 240);
  assert.equal(await countAlerts(rule), 0);
  await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  clock.advance(240);
  assert.equal(await countAlerts(rule), 0);
  clock.advance(90);
  assert.equal(await countAlerts(rule), 1);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.equal(await countAlerts(rule), 1);
  await run('SUCCESS', 400);
  assert.equal(await countAlerts(rule), 2, 'one that no round saw while it ran');
});

test('an execution that runs already when the rule is made raises an alert while it runs', async () => {
  const { createRule, started, instance, countAlerts } = await createScene();
  await started();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await instance.report(work, { type: 'started' });
  clock.advance(1);
  const rule = await createRule({ condition: { type: 'LONGER_THAN', minutes: 5 } });
  clock.advance(240);
  assert.equal(await countAlerts(rule), 0);
  clock.advance(90);
  assert.equal(await countAlerts(rule), 1);
});

test('an execution that takes longer than usual raises an alert once there are enough to compare', async () => {
  const { createRule, run, listAlerts } = await createScene();
  const rule = await createRule({ condition: { type: 'LONGER_THAN_USUAL' } });
  assert.equal(rule.condition.factor, 3);
  await run('SUCCESS', 600);
  for (const seconds of [100, 110, 120]) await run('SUCCESS', seconds);
  assert.deepEqual(await listAlerts(rule), []);
  await run('SUCCESS', 400);
  assert.match(
    (await listAlerts(rule))[0]?.reason ?? '',
    /has taken 6 min 40 s, more than 3 times its usual 1 min 55 s\.$/,
  );
});

test('one that takes longer than usual raises an alert while it runs', async () => {
  const { createRule, run, started, countAlerts } = await createScene();
  const rule = await createRule({ condition: { type: 'LONGER_THAN_USUAL', factor: 2 } });
  for (const seconds of [100, 110, 120]) await run('SUCCESS', seconds);
  await started();
  clock.advance(200);
  assert.equal(await countAlerts(rule), 0);
  clock.advance(30);
  assert.equal(await countAlerts(rule), 1);
});

test('a long message is cut between characters', async () => {
  const { createRule, run, listAlerts } = await createScene();
  const rule = await createRule({ condition: { type: 'FAILED' } });
  // One of the two has a character of two code units where the reason is cut.
  for (const begin of ['', 'x']) await run('FAILED', 1, `${begin}${'😀'.repeat(9_000)}`);
  const found = await listAlerts(rule);
  assert.deepEqual(
    found.map(({ reason }) => [reason.isWellFormed(), reason.length <= alertReasonLimit]),
    [
      [true, true],
      [true, true],
    ],
  );
});

test('an account whose alerts cannot be raised does not stop the others', async () => {
  const scenes = [await createScene(), await createScene()];
  const rules = await Promise.all(
    scenes.map(({ createRule }) => createRule({ condition: { type: 'FAILED' } })),
  );
  for (const { run } of scenes) await run('FAILED');
  let calls = 0;
  const newId = () => {
    calls += 1;
    if (calls === 1) throw new Error('broken');
    return deps.newId();
  };
  await raiseDueAlerts({ ...deps, newId });
  const counts = await Promise.all(
    scenes.map(async ({ admin, rules: path }, index) => {
      const alerts = `${path}/${rules[index]?.alertRuleId}/alerts`;
      return (await admin.get<Page<Alert>>(alerts)).body.results.length;
    }),
  );
  assert.deepEqual(counts.toSorted(), [0, 1]);
});

test('rules of other pipelines do not keep back the alerts of executions that take long', async () => {
  const { createRule, repeatRule, started, countAlerts } = await createScene();
  const condition = { type: 'LONGER_THAN', minutes: 5 };
  await repeatRule(await createRule({ condition, pipelineName: 'nothing' }), 520);
  const rule = await createRule({ condition, pipelineName: 'main' });
  await started();
  clock.advance(400);
  assert.equal(await countAlerts(rule), 1);
});

test('many rules and many events are judged in parts', async () => {
  const { createRule, repeatRule, run, countAlerts } = await createScene();
  const first = await createRule({ condition: { type: 'FAILED' } });
  await repeatRule(first, 500);
  const last = await createRule({ condition: { type: 'FAILED' } });
  for (let count = 0; count < 5; count += 1) await run('FAILED');
  assert.equal(await countAlerts(first), 5);
  assert.equal(await countAlerts(last), 5);
});

test('a scheduled execution that no agent starts raises an alert', async () => {
  const { admin, made, createRule, listAlerts } = await createScene();
  const rule = await createRule({ condition: { type: 'NOT_STARTED', minutes: 10 } });
  const pipeline = { pipelineName: 'main', environmentName: 'dev' };
  const schedule = { name: 'hourly', cronExpression: '0 * * * *' };
  const path = `/projects/${made.projectId}/schedules`;
  const { scheduleId } = (await admin.post<{ scheduleId: string }>(path, { pipeline, schedule })).body;
  const { body } = await admin.get<Schedule>(`${path}/${scheduleId}`);
  clock.advance((Date.parse(body.nextRunAt ?? '') - clock.now().getTime()) / 1_000 + 1);
  await fireDueSchedules(deps);
  assert.deepEqual(await listAlerts(rule), []);
  clock.advance(700);
  const [alert] = await listAlerts(rule);
  assert.equal(alert?.scheduleId, body.scheduleId);
  assert.match(alert?.reason ?? '', /has not been started by an agent 10 min after its tick/);
});

test('a schedule that begins to have a problem raises one alert', async () => {
  const { admin, account, made, createRule, listAlerts } = await createScene();
  const rule = await createRule({ condition: { type: 'SCHEDULE_PROBLEM' } });
  const pipeline = { pipelineName: 'main', environmentName: 'dev' };
  const schedule = { name: 'hourly', cronExpression: '0 * * * *' };
  await admin.post(`/projects/${made.projectId}/schedules`, { pipeline, schedule });
  await server.database.query('delete from artifact_version where account_id = $1', [account.accountId]);
  for (let tick = 0; tick < 3; tick += 1) {
    clock.advance(3_600);
    await fireDueSchedules(deps);
    const found = await listAlerts(rule);
    assert.equal(found.length, 1);
    assert.match(found[0]?.reason ?? '', /^The schedule "hourly" started no execution: /);
  }
});

test('a missed tick raises its alert also if the schedule has recovered since', async () => {
  const { admin, account, made, createRule, listAlerts } = await createScene();
  const rules = await Promise.all(
    [{ type: 'SCHEDULE_PROBLEM' }, { type: 'NOT_STARTED', minutes: 600 }].map((condition) =>
      createRule({ condition }),
    ),
  );
  const pipeline = { pipelineName: 'main', environmentName: 'dev' };
  const schedule = { name: 'hourly', cronExpression: '0 * * * *' };
  await admin.post(`/projects/${made.projectId}/schedules`, { pipeline, schedule });
  const setEnabled = (enabled: boolean) =>
    server.database.query('update artifact_version set enabled = $2 where account_id = $1', [
      account.accountId,
      enabled,
    ]);
  for (const enabled of [false, true]) {
    await setEnabled(enabled);
    clock.advance(3_600);
    await fireDueSchedules(deps);
  }
  for (const rule of rules) {
    const [alert, ...others] = await listAlerts(rule);
    assert.match(alert?.reason ?? '', /^The schedule "hourly" started no execution: .*has no enabled/);
    assert.deepEqual(others, []);
  }
});

test('ticks that no server handled raise an alert of what did not start, and none of the schedule', async () => {
  const { admin, made, createRule, listAlerts } = await createScene();
  const problem = await createRule({ condition: { type: 'SCHEDULE_PROBLEM' } });
  const start = await createRule({ condition: { type: 'NOT_STARTED', minutes: 600 } });
  const pipeline = { pipelineName: 'main', environmentName: 'dev' };
  const schedule = { name: 'hourly', cronExpression: '0 * * * *' };
  await admin.post(`/projects/${made.projectId}/schedules`, { pipeline, schedule });
  clock.advance(4 * 3_600);
  await fireDueSchedules(deps);
  assert.deepEqual(await listAlerts(problem), []);
  const [alert] = await listAlerts(start);
  assert.match(alert?.reason ?? '', /No server handled the ticks from/);
});

test('an alert names its webhooks', async () => {
  const { admin, createRule, run } = await createScene();
  const webhook = {
    name: 'pager',
    url: 'https://hooks.example.com/headgate',
    eventNames: ['project-deleted'],
  };
  const { webhookId } = (await admin.post<{ webhookId: string }>('/webhooks', webhook)).body;
  await createRule({ condition: { type: 'FAILED' }, webhookIds: [webhookId] });
  await run('FAILED');
  await raiseDueAlerts(deps);
  const { results } = (await admin.get<EventLogPart>('/events?after=oldest&eventName=alert-raised')).body;
  const after = results[0]?.additionalInfo.after as { webhookIds: string[] } | undefined;
  assert.deepEqual(after?.webhookIds, [webhookId]);
});

test('alerts are kept as long as events', async () => {
  const { account, createRule, run, countAlerts } = await createScene();
  const rule = await createRule({ condition: { type: 'FAILED' } });
  await run('FAILED');
  clock.advance(3 * 86_400);
  await run('FAILED');
  assert.equal(await countAlerts(rule), 2);
  // The first alert was raised together with the second one.
  clock.advance(3 * 86_400);
  await run('FAILED');
  assert.equal(await countAlerts(rule), 3);
  const before = new Date(clock.now().getTime() - 86_400_000);
  const { remove } = createAlertRetention(1);
  const [row] = await deps.database.read(remove, { account_id: account.accountId, before, cursor: null });
  assert.equal(row?.removed, 2);
  assert.equal(await countAlerts(rule), 1);
});

test('a rule that cannot be meant is refused', async () => {
  const { admin, rules } = await createScene();
  const post = (body: object) => admin.post(rules, { name: 'rule', ...body });
  const failed = { condition: { type: 'FAILED' } };
  const refusals: [object, number, Parameters<typeof requireProblem>[2]][] = [
    [{}, 400, 'invalid-request'],
    [{ condition: { type: 'BROKEN' } }, 400, 'invalid-request'],
    [{ condition: { type: 'LONGER_THAN' } }, 422, 'alert-condition'],
    [{ condition: { type: 'FAILED', minutes: 5 } }, 422, 'alert-condition'],
    [{ condition: { type: 'LONGER_THAN', minutes: 5, factor: 3 } }, 422, 'alert-condition'],
    [{ condition: { type: 'LONGER_THAN', minutes: 0 } }, 400, 'invalid-request'],
    [{ ...failed, environmentName: 'nowhere' }, 422, 'unknown-environment'],
    [{ ...failed, scheduleId: 'nothing' }, 422, 'unknown-schedule'],
    [{ ...failed, scheduleId: randomUUID() }, 422, 'unknown-schedule'],
    [{ ...failed, webhookIds: [randomUUID()] }, 422, 'unknown-webhook'],
    [{ ...failed, webhookIds: ['nothing'] }, 422, 'unknown-webhook'],
  ];
  for (const [body, status, code] of refusals) requireProblem(await post(body), status, code);
  requireProblem(await admin.get(`${rules}/${randomUUID()}`), 404, 'alert-rule-not-found');
  requireProblem(await admin.get(`${rules}/${randomUUID()}/alerts`), 404, 'alert-rule-not-found');
});

test('a rule is changed member by member, and null removes a filter', async () => {
  const { admin, rules, createRule } = await createScene();
  const rule = await createRule({
    condition: { type: 'FAILED' },
    environmentName: 'dev',
    pipelineName: 'main',
  });
  const path = `${rules}/${rule.alertRuleId}`;
  const etag = (await admin.get(path)).etag;
  const changed = await admin.patch<AlertRule>(
    path,
    { environmentName: null, condition: { type: 'LONGER_THAN', minutes: 7 } },
    { headers: { 'if-match': etag } },
  );
  const { environmentName: _, ...kept } = rule;
  assert.deepEqual(changed.body, { ...kept, condition: { type: 'LONGER_THAN', minutes: 7 } });
  requireProblem(await admin.delete(path, { headers: { 'if-match': etag } }), 412, 'etag-mismatch');
  assert.equal((await admin.delete(path)).status, 204);
});
