/** Schedules that cannot run: lost rights, and what they need is gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { createScheduled, fireAll } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { fireDueSchedules } from './schedule-ticks.ts';

const server = await startTestServer({ startsAt: new Date('2026-11-20T10:00:00.000Z') });
const everyMinute = { cronExpression: '* * * * *' };

async function tickOnce(): Promise<string> {
  server.clock.advance(60 - ((server.clock.now().getTime() / 1_000) % 60));
  await fireAll(server);
  return server.clock.now().toISOString();
}

/** A schedule that a contributor of the project wrote last. */
async function createByContributor() {
  const found = await createScheduled(server);
  const { account, made, schedules } = found;
  const grant = { projectId: made.projectId, role: 'CONTRIBUTOR' } as const;
  const write = async (client: { post: typeof found.admin.post }, name: string) => {
    const { body } = await client.post<{ scheduleId: string }>(schedules, {
      pipeline: { pipelineName: 'main', environmentName: 'dev' },
      schedule: { name, ...everyMinute },
    });
    return body.scheduleId;
  };
  const contributor = await account.actor('MEMBER', grant);
  return { ...found, grant, write, contributor };
}

test('a schedule has the rights of its writer at each tick: without them its run is FORBIDDEN', async () => {
  const { contributor, write, runsOf, read, instance, admin, schedules, eventsOf } =
    await createByContributor();
  const id = await write(contributor, 'theirs');
  await tickOnce();
  assert.equal((await read(id)).user, 'a MEMBER');
  const [grant] = await server.database.query<{ row: string }>(
    `delete from role_grant where credential_id = '${contributor.actorId}' returning project_id as row`,
  );
  const since = await tickOnce();
  await tickOnce();
  const [first, second, third] = await runsOf(id);
  assert.deepEqual(
    [first, second, third].map((run) => run?.status),
    ['RUNNING', 'FORBIDDEN', 'FORBIDDEN'],
  );
  assert.equal(
    second?.message,
    '"a MEMBER", which last wrote the schedule, no longer has permission to run pipelines in the environment "dev".',
  );
  const { problem, lastRunAt } = await read(id);
  assert.deepEqual([problem?.code, problem?.since], ['forbidden', since]);
  assert.match(problem?.detail ?? '', /can update or resume the schedule/);
  assert.equal(lastRunAt, first?.startedAt);
  assert.equal((await instance.claim()).work.length, 0, 'the first run lost its rights, too');

  // Somebody else writes it: it runs with their rights.
  const written = await admin.post<{ problem?: object; user?: string }>(`${schedules}/${id}/resume`);
  assert.deepEqual([written.body.problem, written.body.user], [undefined, 'a SUPER_ADMIN']);
  await tickOnce();
  assert.equal((await runsOf(id)).at(-1)?.status, 'RUNNING');
  assert.ok(grant !== undefined);
  assert.deepEqual(
    (await eventsOf(id)).map((each) => each.eventName),
    ['schedule-created', 'schedule-updated'],
  );
});

test('rights that come back end the problem', async () => {
  const { contributor, write, runsOf, read, made, account, eventsOf } = await createByContributor();
  const id = await write(contributor, 'theirs');
  await server.database.query(`delete from role_grant where credential_id = '${contributor.actorId}'`);
  await tickOnce();
  assert.equal((await read(id)).problem?.code, 'forbidden');
  await server.database.query(
    `insert into role_grant (account_id, credential_id, project_id, role) values ($1, $2, $3, 'CONTRIBUTOR')`,
    [account.accountId, contributor.actorId, made.projectId],
  );
  await tickOnce();
  assert.equal((await read(id)).problem, undefined);
  assert.equal((await runsOf(id)).at(-1)?.status, 'RUNNING');
  assert.equal((await eventsOf(id)).at(-1)?.eventName, 'schedule-recovered');
});

test('a deleted credential and a deactivated or deleted user have no rights', async () => {
  const { account, admin, contributor, write, runsOf, read, grant } = await createByContributor();
  const [inactive, deleted] = [await account.user(undefined, grant), await account.user(undefined, grant)];
  const ids = [
    await write(contributor, 'of a credential'),
    await write(inactive, 'of one who is inactive'),
    await write(deleted, 'of one who is gone'),
  ];
  await tickOnce();
  assert.equal((await admin.delete(`/credentials/${contributor.actorId}`)).status, 204);
  assert.equal((await admin.patch(`/users/${inactive.actorId}`, { active: false })).status, 200);
  assert.equal((await admin.delete(`/users/${deleted.actorId}`)).status, 204);
  await tickOnce();
  for (const id of ids) {
    assert.deepEqual(
      (await runsOf(id)).map((run) => run.status),
      ['RUNNING', 'FORBIDDEN'],
    );
    assert.equal((await read(id)).problem?.code, 'forbidden');
  }
  const { message } = (await runsOf(ids[2] ?? '')).at(-1) ?? {};
  assert.match(message ?? '', /^The deleted caller, which last wrote the schedule/);
});

test('a pipeline, version or agent that is gone is a problem, with an event at each missed tick', async () => {
  const { account, admin, made, created, read, runsOf, eventsOf } = await createScheduled(server);
  const gone = await account.agent();
  await admin.patch(`${made.path}/environments/dev`, { defaultAgentId: gone.agentId });
  const ofAgent = await created(everyMinute, { agentId: gone.agentId });
  const ofVersion = await created(everyMinute, { versionName: 'v1' });
  const ofPipeline = await created(everyMinute, { pipelineName: 'folder/Load it' });
  await tickOnce();
  await server.database.query(`delete from agent where agent_id = '${gone.agentId}'`);
  await upload(admin, made, [{ name: 'main.orch.yaml', content: smallPipeline }], { versionName: 'v2' });
  await admin.patch(`${made.path}/artifacts`, { environmentName: 'dev', versionName: 'v1', enabled: false });
  const since = await tickOnce();
  const last = await tickOnce();
  const expected: [string, string, RegExp][] = [
    [ofAgent, 'unknown-agent', new RegExp(gone.agentId)],
    [ofVersion, 'artifact-disabled', /"v1"/],
    [
      ofPipeline,
      'pipeline-not-found',
      /"v2", the newest enabled one in the environment, has no pipeline "folder\/Load it.orch.yaml"/,
    ],
  ];
  for (const [id, code, detail] of expected) {
    const { problem, nextRunAt } = await read(id);
    assert.deepEqual([problem?.code, problem?.since], [code, since]);
    assert.match(problem?.detail ?? '', detail);
    assert.ok(nextRunAt !== undefined, 'it goes on');
    const runs = (await runsOf(id)).filter((run) => run.startedAt >= since);
    assert.deepEqual(runs, [], 'no run');
    const missed = (await eventsOf(id)).filter((each) => each.eventName === 'schedule-tick-missed');
    assert.deepEqual(
      missed.map(({ additionalInfo }) => (additionalInfo.after as { tick: string }).tick),
      [since, last],
    );
  }
  await admin.patch(`${made.path}/artifacts`, { environmentName: 'dev', versionName: 'v1', enabled: true });
  const recovered = await tickOnce();
  assert.equal((await read(ofVersion)).problem, undefined);
  const event = (await eventsOf(ofVersion)).at(-1);
  assert.equal(event?.eventName, 'schedule-recovered');
  assert.deepEqual(event?.additionalInfo.after, { tick: recovered, problem: 'artifact-disabled' });
});

test('a schedule with a problem can be paused and deleted, but not resumed', async () => {
  const { admin, made, created, schedules } = await createScheduled(server);
  const id = await created(everyMinute);
  await admin.patch(`${made.path}/artifacts`, { environmentName: 'dev', versionName: 'v1', enabled: false });
  await tickOnce();
  const paused = await admin.post<{ problem?: { code: string } }>(`${schedules}/${id}/pause`);
  assert.equal(paused.body.problem?.code, 'artifact-not-found');
  assert.equal((await admin.post(`${schedules}/${id}/resume`)).status, 404);
  assert.equal((await admin.post(`${schedules}/${id}/run`)).status, 404);
  assert.equal((await admin.delete(`${schedules}/${id}`)).status, 204);
});

test('a schedule that the database refuses does not stop the others', async () => {
  const { created, runsOf } = await createScheduled(server);
  const ids = [await created(everyMinute), await created(everyMinute), await created(everyMinute)];
  const [, broken] = ids;
  await server.database.query(
    `create function refuse_one() returns trigger language plpgsql as $$ begin
       if new.schedule_id = '${broken}' then raise 'broken'; end if; return new; end $$`,
  );
  await server.database.query(
    'create trigger refuse_one before insert on pipeline_execution for each row execute function refuse_one()',
  );
  server.clock.advance(60);
  await fireDueSchedules(server.deps);
  const counts = await Promise.all(ids.map(async (id) => (await runsOf(id)).length));
  assert.deepEqual(counts, [1, 0, 1]);
  assert.ok(
    server.logLines.some((line) => line.includes(broken ?? '') && line.includes('could not be handled')),
  );
  await server.database.query('drop trigger refuse_one on pipeline_execution');
  await fireAll(server);
  assert.equal((await runsOf(broken ?? '')).length, 1);
});

test('a server leaves schedules in time zones that it does not know to other servers', async () => {
  const { created, read, runsOf, eventsOf } = await createScheduled(server);
  const [id, other] = [await created(everyMinute), await created(everyMinute)];
  const setZone = (zone: string) =>
    server.database.query('update schedule set cron_timezone = $2 where schedule_id = $1', [id, zone]);
  await setZone('Europe/Nowhere');
  server.clock.advance(60 - ((server.clock.now().getTime() / 1_000) % 60));
  const tick = server.clock.now().toISOString();
  for (let round = 0; round < 3; round += 1) await fireDueSchedules(server.deps);
  assert.equal((await runsOf(other)).length, 1);
  const left = await read(id);
  assert.deepEqual([left.problem, left.nextRunAt], [undefined, tick]);
  assert.ok(
    server.logLines.some((line) => line.includes('Europe/Nowhere') && line.includes('update Node.js')),
  );

  // No server knows it.
  server.clock.advance(61);
  for (let round = 0; round < 3; round += 1) await fireDueSchedules(server.deps);
  const late = await read(id);
  assert.deepEqual(
    [late.problem?.code, late.problem?.since, late.nextRunAt],
    ['schedule-expression', tick, tick],
  );
  assert.match(
    late.problem?.detail ?? '',
    /"Europe\/Nowhere" is not a time zone .* runs as soon as a server knows/,
  );

  // Another server does.
  await setZone('Europe/Berlin');
  await fireAll(server);
  const { problem, nextRunAt } = await read(id);
  assert.equal(problem, undefined);
  assert.ok(nextRunAt !== undefined && nextRunAt > server.clock.now().toISOString());
  assert.equal((await runsOf(id)).length, 1);
  const names = (await eventsOf(id)).map((each) => each.eventName);
  assert.deepEqual(names.slice(1), ['schedule-tick-missed', 'schedule-tick-missed', 'schedule-recovered']);
});

test('a schedule whose expression cannot be read any more runs again once it is written', async () => {
  const { created, patch, read } = await createScheduled(server);
  const id = await created(everyMinute);
  await server.database.query("update schedule set cron_expression = 'never' where schedule_id = $1", [id]);
  await tickOnce();
  const stopped = await read(id);
  assert.deepEqual([stopped.problem?.code, stopped.nextRunAt], ['schedule-expression', undefined]);
  const written = (await patch(id, everyMinute)).body;
  assert.equal(written.problem, undefined);
  assert.ok(written.nextRunAt !== undefined);
});
