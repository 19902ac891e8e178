/** The sweep reads due rows only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createInstance } from '../../../testing/agent.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';
import { planning } from '../../main/database.ts';
import { addSeconds } from '../clock.ts';
import { listStatements } from '../database/trips/statement.ts';
import { sweepWork } from './work-sweep.ts';

const server = await startTestServer();
const { deps, clock, database } = server;
const { times } = deps;
const queued = 100_000;
/** Pages of 8 KiB. The table has more than 2,000. */
const mostPages = 60;

const sweep = () => sweepWork(deps, deps.owners, times, clock.now());

async function readDue(path: string): Promise<Date | null> {
  const [row] = await database.query<{ due_at: Date | null }>('select due_at from work where work_id = $1', [
    path.split('/').at(-1),
  ]);
  assert.ok(row);
  return row.due_at;
}

test('due_at follows the first check, queue limit, lease, grace period and end of work', async () => {
  const place = await createPlace(await server.account());
  const instance = createInstance(place.agent);
  await instance.hello();
  const created = clock.now();
  const path = await createExecution(place);
  assert.deepEqual(await readDue(path), addSeconds(created, 2), 'most work is claimed before that');
  clock.advance(2);
  assert.deepEqual(await sweep(), { moved: 0, isMore: false });
  assert.deepEqual(await readDue(path), addSeconds(created, times.queueLimitSeconds));

  const claimed = clock.now();
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const lease = addSeconds(claimed, times.leaseSeconds);
  assert.deepEqual(await readDue(path), lease);
  clock.advance(5);
  const beaten = clock.now();
  await instance.heartbeat(work);
  assert.deepEqual(await readDue(path), lease, 'a heartbeat leaves it, so that no index changes');
  clock.advance(times.leaseSeconds - 4);
  assert.deepEqual(await sweep(), { moved: 0, isMore: false });
  assert.deepEqual(await readDue(path), addSeconds(beaten, times.leaseSeconds));

  clock.advance(times.leaseSeconds);
  assert.equal((await sweep()).moved, 1);
  assert.deepEqual(await readDue(path), addSeconds(clock.now(), times.graceSeconds));
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.equal(await readDue(path), null);
});

test('a forced cancel moves due_at forward', async () => {
  const place = await createPlace(await server.account());
  const instance = createInstance(place.agent);
  await instance.hello();
  const path = await createExecution(place);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  const body = { status: 'CANCELLED', forceUpdate: true };
  assert.ok((await place.account.admin.patch(path, body)).status < 300);
  const bound = addSeconds(clock.now(), times.leaseSeconds + times.graceSeconds);
  for (let beat = 0; clock.now() < bound; beat += 1) {
    assert.ok(beat < 20);
    await instance.heartbeat(work);
    clock.advance(5);
  }
  clock.advance(1);
  assert.equal((await sweep()).moved, 1);
  assert.equal((await place.account.admin.get<{ status: string }>(path)).body.status, 'CANCELLED');
});

test('with 100,000 executions that wait for a missing agent, a round reads few pages', async () => {
  const { agent, project, account } = await createPlace(await server.account());
  await database.query(
    `insert into work (account_id, work_id, project_id, environment_name, agent_id, kind, name, state, created_at, queued_at, due_at)
     select $1, gen_random_uuid(), $2, 'dev', $3, 'pipeline-execution', 'main', 'queued', $4, $4, $4::timestamptz + interval '1 day'
     from generate_series(1, ${queued})`,
    [account.accountId, project.projectId, agent.agentId, clock.now()],
  );
  await database.query('analyze work');
  const client = new pg.Client({ ...database.connection, options: planning });
  await client.connect();
  try {
    const ofSweep = [...listStatements()].filter(({ text }) => /from work\b[^;]*\bdue_at <= \$1/.test(text));
    assert.equal(ofSweep.length, 2);
    for (const { name, text, parameters } of ofSweep) {
      await client.query(`prepare "${name}" as ${text}`);
      const input = Array(parameters.length).fill(`'${clock.now().toISOString()}'`).join(', ');
      const explain = `explain (analyze, buffers, format json) execute "${name}" (${input})`;
      // Twice: the first run also reads the catalogue.
      await client.query(explain);
      const { rows } = await client.query(explain);
      const { Plan: plan } = rows[0]['QUERY PLAN'][0];
      const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      assert.ok(pages < mostPages, `${pages} pages: ${JSON.stringify(plan)}`);
    }
  } finally {
    await client.end();
  }
});
