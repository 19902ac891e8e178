/** Schedules on two servers, one of which is killed again and again: each tick has exactly one run. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../packages/server/testing/database.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation, isRoot } from './harness/installation.ts';
import { Project, sqlScript } from './harness/project.ts';

/** Due each second, while the server without an agent is killed. */
const schedules = 40;
const leastRuns = 5;
const kills = roundsOr(1);

describe(`schedules on two servers, one of which is killed (TEST_SEED=${testSeed})`, () => {
  let database: TestDatabase;
  let direct: pg.Client;
  /** Without an agent. */
  let one: Installation;
  /** With the local agent. */
  let other: Installation;
  let client: ApiClient;
  let project: Project;

  before(async () => {
    database = await createTestDatabase();
    direct = new pg.Client({ connectionString: database.url });
    direct.on('error', () => undefined);
    await direct.connect();
    const shared = {
      DATABASE_URL: database.url,
      HEADGATE_MASTER_KEY: randomBytes(32).toString('base64'),
      HEADGATE_PUBLIC_URL: 'http://headgate.test',
      HEADGATE_CLIENT_ID: 'operator',
      HEADGATE_SCHEDULE_INTERVAL_SECONDS: '1',
      HEADGATE_CLIENT_SECRET: `secret-of-both-${randomBytes(12).toString('hex')}`,
    };
    one = await Installation.create({ environment: { ...shared, HEADGATE_LOCAL_AGENT: 'off' } });
    other = await Installation.create({ environment: shared });
    shareBlobs(one, other);
    await other.start('node');
    await one.start('node');
    client = other.client('operator', shared.HEADGATE_CLIENT_SECRET);
    project = await Project.create(client);
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
  });
  after(async () => {
    await one.remove();
    await other.remove();
    await direct.end();
    await database.drop();
  });

  async function createSchedule(name: string, pipeline: object = {}): Promise<string> {
    const body = {
      pipeline: { pipelineName: 'main', environmentName: 'dev', ...pipeline },
      schedule: { name, intervalExpression: { interval: name === 'run' ? 2 : 1, unit: 'SECONDS' } },
    };
    return (await client.ask('POST', `${project.path}/schedules`, body)).scheduleId;
  }

  it('an agent runs a schedule to SUCCESS, with its trigger and scheduleId', async () => {
    const id = await createSchedule('run');
    const list = async () => {
      const path = `/v1/pipeline-executions?scheduleId=${id}&status=SUCCESS`;
      const { body } = await client.call('GET', path);
      return (body as { results: { trigger: string; scheduleId: string }[] }).results;
    };
    await waitUntil('three runs', 120, async () => (await list()).length >= 3);
    for (const run of await list()) assert.deepEqual([run.trigger, run.scheduleId], ['SCHEDULE', id]);
    const now = await client.ask('POST', `${project.path}/schedules/${id}/run`);
    const { trigger, status } = (await project.ended(now.pipelineExecutionId)) as {
      trigger?: string;
      status: string;
    };
    assert.deepEqual([trigger, status], ['SCHEDULE_RUN_NOW', 'SUCCESS']);
    await client.ask('DELETE', `${project.path}/schedules/${id}`);
  });

  it('a backfill runs each tick once, with its time, while one server is killed', async () => {
    await project.publish(
      {
        'main.orch.yaml': sqlScript('select 1'),
        'day.orch.yaml': sqlScript(`select '\${sysvar.schedule.tick.slice(0, 10)}' as day`),
      },
      'dev',
      '2',
    );
    const { scheduleId } = await client.ask('POST', `${project.path}/schedules`, {
      pipeline: { pipelineName: 'day', environmentName: 'dev' },
      schedule: { name: 'daily', cronExpression: '0 0 2 * * ?' },
    });
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z', concurrency: 4 };
    const backfills = `${project.path}/schedules/${scheduleId}/backfills`;
    const { backfillId } = await client.ask('POST', backfills, range);
    const path = `/v1/pipeline-executions?backfillId=${backfillId}&limit=100`;
    const server = (await one.process('server')).pid;
    const countStarted = async () => (await client.ask('GET', path)).results.length;
    await waitUntil('the first runs', 120, async () => (await countStarted()) > 0);
    await one.kill(server);
    const started = await countStarted();
    assert.ok(started < 31, `it was killed before the last run: ${started}`);
    await one.start('node');
    const read = () => client.ask('GET', `${backfills}/${backfillId}`);
    await waitUntil('the end of the backfill', 300, async () => (await read()).status === 'COMPLETED');
    const { body } = await client.call('GET', path);
    const { results } = body as {
      results: { pipelineExecutionId: string; status: string; scheduleTick: string }[];
    };
    const expected = Array.from({ length: 31 }, (_, index) => new Date(Date.UTC(2026, 0, index + 1, 2)));
    assert.deepEqual(
      results.map(({ scheduleTick }) => scheduleTick).sort(),
      expected.map((tick) => tick.toISOString()),
    );
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(['SUCCESS']));
    const [last] = results.filter(({ scheduleTick }) => scheduleTick.startsWith('2026-01-31'));
    const steps = await client.ask(
      'GET',
      `${project.path}/pipeline-executions/${last?.pipelineExecutionId}/steps`,
    );
    assert.match(JSON.stringify(steps), /select '2026-01-31' as day/);
  });

  it('each tick has exactly one run, with its work and its event, while one server is killed', {
    timeout: 600_000 + kills * 20_000,
  }, async () => {
    const absent = {
      name: 'absent',
      agentType: 'data_productivity_cloud',
      cloudProvider: 'local',
      deployment: 'local',
    };
    const { agentId } = await client.ask('POST', '/v1/agents', absent);
    await Promise.all(
      Array.from({ length: schedules }, (_, number) => createSchedule(`schedule ${number}`, { agentId })),
    );
    for (let kill = 0; kill < kills; kill++) {
      await delay(2_000);
      await one.kill((await one.process('server')).pid);
      await one.start('node');
    }
    await waitUntil('runs of each schedule', 120, async () => {
      const { rows } = await direct.query<{ runs: number }>(
        `select count(*)::int as runs from pipeline_execution where agent_id = $1 group by schedule_id`,
        [agentId],
      );
      return rows.length === schedules && rows.every(({ runs }) => runs > leastRuns);
    });
    await client.ask('DELETE', `${project.path}/environments/dev?confirm=true`);

    // An interval of a second has no gap, and a run at each tick.
    const { rows } = await direct.query<Record<string, number>>(
      `select schedule_id, count(*)::int as runs, count(distinct schedule_tick)::int as ticks,
         extract(epoch from max(schedule_tick) - min(schedule_tick))::int + 1 as seconds,
         count(w.work_id)::int as works, count(v.event_id)::int as events
       from pipeline_execution e
       left join work w on w.account_id = e.account_id and w.work_id = e.execution_id
       left join event v on v.account_id = e.account_id and v.subject_id = e.execution_id::text
         and v.name = 'pipeline-execution-requested'
       where e.agent_id = $1 group by schedule_id`,
      [agentId],
    );
    assert.equal(rows.length, schedules);
    for (const { runs, ticks, seconds, works, events } of rows) {
      assert.deepEqual([ticks, seconds, works, events], [runs, runs, runs, runs]);
    }
    const left = await direct.query('select from schedule');
    assert.equal(left.rowCount, 0);
  });
});

/** One folder for both, like a mounted one. */
function shareBlobs(one: Installation, other: Installation): void {
  for (const { dataDirectory } of [one, other]) {
    mkdirSync(dataDirectory);
    chmodSync(dataDirectory, isRoot ? 0o711 : 0o700);
  }
  mkdirSync(join(one.dataDirectory, 'blobs'));
  symlinkSync(join(one.dataDirectory, 'blobs'), join(other.dataDirectory, 'blobs'));
}
