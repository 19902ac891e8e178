/** After the migration, the sweep treats the work of an older database as before. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after as afterAll, test } from 'node:test';
import { createTestDatabase } from '../../../testing/database.ts';
import { openTestServer } from '../../../testing/open-server.ts';
import { addSeconds } from '../clock.ts';
import { sweepWork } from './work-sweep.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
const migrations = join(import.meta.dirname, '../../../migrations');
const ofDueWork = '0020_due_work.sql';

test('the first sweep sets due_at of all work, and moves overdue work', async () => {
  await database.query('drop schema public cascade');
  await database.query('create schema public');
  const names = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort();
  const apply = async (name: string) => database.query(await readFile(join(migrations, name), 'utf8'));
  for (const name of names.filter((each) => each < ofDueWork)) await apply(name);
  const [account, project, agent] = [randomUUID(), randomUUID(), randomUUID()];
  await database.query("insert into account values ($1, 'an account', now())", [account]);
  await database.query(
    `insert into project (account_id, project_id, name, warehouse, agent_deployment_type, version, created_at)
     values ($1, $2, 'p', 'DUCKDB', 'HYBRID', 1, now())`,
    [account, project],
  );
  await database.query(
    `insert into agent (account_id, agent_id, name, description, agent_type, cloud_provider, deployment, status, client_id, secret_digest,
       restricted_access, created_at)
     values ($1, $2, 'a', '', 'HYBRID', 'AWS', 'FARGATE', 'unknown', 'a', '', true, now())`,
    [account, agent],
  );
  await database.query(
    `insert into agent_allowed_place (account_id, agent_id, project_id) values ($1, $2, $3)`,
    [account, agent, project],
  );
  const now = new Date();
  const insert = (state: string, columns: Record<string, Date>) =>
    database.query(
      `insert into work (account_id, work_id, project_id, environment_name, agent_id, kind, name, state, created_at, queued_at,
         ${Object.keys(columns).join(', ')})
       values ($1, $2, $3, 'dev', $4, 'pipeline-execution', 'main', '${state}', $5, $5, ${Object.keys(columns).map((_, index) => `$${6 + index}`)})`,
      [account, randomUUID(), project, agent, addSeconds(now, -60), ...Object.values(columns)],
    );
  const [later, before] = [addSeconds(now, 600), addSeconds(now, -1)];
  await insert('queued', { claimable_until: later });
  await insert('held', { lease_expires_at: later, run_bound: addSeconds(now, 900) });
  await insert('held', { lease_expires_at: before, run_bound: addSeconds(now, 900) });
  await insert('silent', { silent_since: now, run_bound: addSeconds(now, 900) });
  await insert('ended', { ended_at: before });
  for (const name of names.filter((each) => each >= ofDueWork)) await apply(name);

  const server = await openTestServer(database, { startsAt: now });
  try {
    const { deps } = server;
    const { moved } = await sweepWork(deps, deps.owners, deps.times, now);
    assert.equal(moved, 1, 'the lease that ran out');
    const rows = await database.query<{ state: string; due_at: Date | null }>(
      'select state, due_at from work order by state, due_at',
    );
    const grace = addSeconds(now, deps.times.graceSeconds);
    assert.deepEqual(rows, [
      { state: 'queued', due_at: later },
      { state: 'held', due_at: later },
      { state: 'silent', due_at: grace },
      { state: 'silent', due_at: grace },
      { state: 'ended', due_at: null },
    ]);
  } finally {
    await server.close();
  }
});
