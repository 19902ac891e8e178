/** After the migrations, what servers held in an older database is due, held and counted as before. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after as afterAll, test } from 'node:test';
import { createTestDatabase } from '../../../testing/database.ts';
import { addSeconds } from '../clock.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
const { query } = database;
const migrations = join(import.meta.dirname, '../../../migrations');
const ofServerWork = '0091_server_work.sql';

const [account, project, actor] = [randomUUID(), randomUUID(), randomUUID()];
const now = new Date();
const [before, later] = [addSeconds(now, -60), addSeconds(now, 60)];

const migrationColumns = {
  ...{ project_id: project, mode: 'RECONFIGURE', status: 'IN_PROGRESS', phase: 'FETCHING' },
  ...{ target_provider: 'git', target_name: 't', target_clone_url: 'https://t', provider_parameters: '{}' },
  ...{ overwrite: false, requested_by: actor, created_at: before },
};
const webhookColumns = {
  ...{ name: 'h', url: 'https://h', event_names: '{}', sealed_secret: '\\x00', owner_id: actor },
  ...{ created_at: before, position: 0, version: 1 },
};

/** Inserts a row whose other columns are of no interest. */
async function insert(table: string, columns: Record<string, unknown>): Promise<void> {
  const names = ['account_id', ...Object.keys(columns)];
  await query(
    `insert into ${table} (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
    [account, ...Object.values(columns)],
  );
}

async function insertOldRows(): Promise<void> {
  await query("insert into account (account_id, name, created_at) values ($1, 'an account', now())", [
    account,
  ]);
  await query(
    `insert into project (account_id, project_id, name, warehouse, agent_deployment_type, version, created_at)
     values ($1, $2, 'p', 'DUCKDB', 'HYBRID', 1, now())`,
    [account, project],
  );
  const of = { project_id: project, created_at: before };
  const by = { version: 1, created_by: actor, updated_at: before };
  await insert('repository', {
    ...{ ...of, ...by, provider: 'headgate', repository_name: 'r', provider_parameters: '{}' },
  });
  const mail = { ...of, recipient: 'a@example.com', subject: '', body: '', attempts: 3 };
  await insert('alert_mail', { ...mail, mail_id: randomUUID(), state: 'pending', next_attempt_at: later });
  await insert('alert_mail', { ...mail, mail_id: randomUUID(), state: 'sent' });
  const rule = { project_id: project, environment_name: 'dev', written_by: actor, written_at: before };
  const never = new Date('9999-12-31T00:00:00Z');
  await insert('delivery_rule', { ...rule, branch_name: 'waits', due_at: never });
  const held = { lease_until: later, epoch: 4, interruptions: 1 };
  await insert('delivery_rule', { ...rule, branch_name: 'held', due_at: before, ...held });
  const review = { project_id: project, branch_name: 'main', touched_at: before };
  await insert('git_review', { ...review, due_at: later, attempts: 2 });
  await insert('repository_migration', {
    ...{ ...migrationColumns, migration_id: randomUUID(), lease_until: before, epoch: 2, attempts: 2 },
  });
  const task = { ...of, agent_config: '{}', description: '', creator_id: actor, sender_id: actor };
  const more = { ...task, wants_turn: false, modified_at: before };
  await insert('ai_task', { ...more, task_id: randomUUID(), status: 'STOPPED' });
  const running = { status: 'RUNNING', due_at: later, failures: 1, epoch: 7 };
  await insert('ai_task', { ...more, task_id: randomUUID(), ...running });
  const sent = { ...webhookColumns, retry_at: later };
  await insert('webhook', { ...sent, webhook_id: randomUUID(), state: 'active' });
  await insert('webhook', { ...sent, webhook_id: randomUUID(), state: 'paused' });
}

test('rows with a lease of their own become work, and go with what they are about', async () => {
  await query('drop schema public cascade');
  await query('create schema public');
  const names = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort();
  const apply = async (name: string) => query(await readFile(join(migrations, name), 'utf8'));
  for (const name of names.filter((each) => each < ofServerWork)) await apply(name);
  await insertOldRows();
  for (const name of names.filter((each) => each >= ofServerWork)) await apply(name);
  await apply('functions/server-work.sql');
  const rows = await query(
    `select kind, due_at, lease_until, epoch::integer, attempts, interruptions from server_work
     order by kind, claimable_at nulls last`,
  );
  const row = (kind: string, due_at: Date | null, more: object = {}) => ({
    ...{ kind, due_at, lease_until: null, epoch: 0, attempts: 0, interruptions: 0 },
    ...more,
  });
  assert.deepEqual(
    rows.map((each) => ({ ...each })),
    [
      row('ai-task', later, { attempts: 1, epoch: 7 }),
      row('ai-task', null),
      row('alert-mail', later, { attempts: 3 }),
      row('git-delivery', before, { lease_until: later, epoch: 4, interruptions: 1 }),
      row('git-delivery', null),
      row('git-review', later, { attempts: 2 }),
      row('repository-migration', before, { lease_until: before, epoch: 2, attempts: 2 }),
      row('webhook', later),
      row('webhook', null),
    ],
  );
  await query('delete from webhook');
  await query('delete from project');
  assert.deepEqual(await query('select kind from server_work'), []);
});

test('webhooks and migrations of a server of the release before get their work at the commit', async () => {
  await query(
    `insert into project (account_id, project_id, name, warehouse, agent_deployment_type, version, created_at)
     values ($1, $2, 'q', 'DUCKDB', 'HYBRID', 1, now())`,
    [account, project],
  );
  await insert('webhook', { ...webhookColumns, webhook_id: randomUUID(), state: 'active', retry_at: later });
  const migration = { ...migrationColumns, migration_id: randomUUID() };
  await insert('repository_migration', migration);
  await insert('repository_migration', { ...migration, migration_id: randomUUID(), status: 'FAILED' });
  const rows = await query('select kind, due_at from server_work order by kind');
  assert.deepEqual(
    rows.map((each) => ({ ...each })),
    [
      { kind: 'repository-migration', due_at: before },
      { kind: 'webhook', due_at: later },
    ],
  );
  // What has its work keeps it.
  await query(
    `with w as (
       insert into webhook (account_id, webhook_id, name, url, event_names, sealed_secret, owner_id, created_at, position, version, state)
       select account_id, $1, 'other', url, event_names, sealed_secret, owner_id, created_at, position, version, state from webhook)
     insert into server_work (account_id, work_id, kind, due_at) values ($2, $1, 'webhook', $3)`,
    [randomUUID(), account, before],
  );
  const webhooks = await query("select due_at from server_work where kind = 'webhook' order by due_at");
  assert.deepEqual(
    webhooks.map(({ due_at }) => due_at),
    [before, later],
  );
});
