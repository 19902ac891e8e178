/** Alerts of many rules, runs and accounts: in parts, and in turns. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Alert, AlertRule, Page } from '@headgate/contract';
import pg from 'pg';
import { startTestServer } from '../../../testing/server.ts';
import { createStartable } from '../../../testing/startable-project.ts';
import { planning } from '../../main/database.ts';
import { createAlertTurns, raiseDueAlerts } from './alert-turns.ts';
import { selectUnendedCauses } from './unended-cause.store.ts';

const server = await startTestServer();
const { clock, deps } = server;

async function createScene() {
  const scene = await createStartable(server);
  const { admin, account, made } = scene;
  const rules = `/projects/${made.projectId}/alert-rules`;
  const createRule = async (condition: object) =>
    (await admin.post<AlertRule>(rules, { name: `rule ${randomUUID()}`, condition })).body;
  const countAlerts = async ({ alertRuleId }: AlertRule) =>
    (await admin.get<Page<Alert>>(`${rules}/${alertRuleId}/alerts`)).body.total;
  /** Copies a row of the account, with these columns instead, this often. */
  const copyRows = (table: string, key: string, changes: string, times: number) =>
    server.database.query(
      `
      insert into ${table} select (jsonb_populate_record(r, jsonb_build_object('${key}', gen_random_uuid()) || ${changes})).*
      from (select r from ${table} r where account_id = $1 order by ${key} limit 1) one, generate_series(1, $2::integer) n`,
      [account.accountId, String(times)],
    );
  const copyRules = (times: number) =>
    copyRows('alert_rule', 'alert_rule_id', "jsonb_build_object('name', 'copy ' || n)", times);
  const copyRuns = (status: string, seconds: number, times: number) =>
    copyRows(
      'pipeline_execution',
      'execution_id',
      `jsonb_build_object('status', '${status}', 'running_tag', null, 'started_at', to_timestamp(${clock.now().getTime() / 1_000}),
        'finished_at', case when '${status}' = 'SUCCESS' then to_timestamp(${clock.now().getTime() / 1_000 + seconds}) end)`,
      times,
    );
  /** Events that concern no rule. */
  const copyEvents = (times: number) =>
    copyRows(
      'event',
      'event_id',
      "jsonb_build_object('sequence', nextval('event_sequence'), 'position', null)",
      times,
    );
  return { ...scene, createRule, countAlerts, copyRules, copyRuns, copyEvents };
}

test('many rules and many runs are judged in parts, and each pipeline is measured once', async () => {
  const { account, createRule, copyRules, copyRuns, countAlerts, started } = await createScene();
  await started();
  await copyRuns('SUCCESS', 100, 50);
  await copyRuns('RUNNING', 0, 500);
  await createRule({ type: 'LONGER_THAN_USUAL', factor: 5 });
  await copyRules(298);
  const rule = await createRule({ type: 'LONGER_THAN_USUAL', factor: 3 });
  clock.advance(200);
  await raiseDueAlerts(deps);
  assert.equal(await countAlerts(rule), 0);
  const blocks = await countBlocks(account.accountId);
  assert.ok(blocks < 5_000, `${blocks} blocks were read, 24 of them for each median`);
  clock.advance(200);
  await raiseDueAlerts(deps);
  assert.equal(await countAlerts(rule), 501);
  // In the next tests, all of these runs would take longer than usual.
  await server.database.query('delete from alert_rule where account_id = $1', [account.accountId]);
});

/** The blocks that the search among 100 runs reads. */
async function countBlocks(accountId: string): Promise<number> {
  const client = new pg.Client({ ...server.database.connection, options: planning });
  await client.connect();
  try {
    const { rows } = await client.query<{ execution_id: string }>(
      "select execution_id from pipeline_execution where account_id = $1 and status = 'RUNNING' limit 100",
      [accountId],
    );
    const ids = rows.map((row) => row.execution_id).join(',');
    const values: Record<string, string> = {
      account_id: accountId,
      execution_ids: `{${ids}}`,
      now: clock.now().toISOString(),
    };
    const input = selectUnendedCauses.parameters.map((name) => `'${values[name]}'`).join(', ');
    await client.query(`prepare searched as ${selectUnendedCauses.text}`);
    const { rows: explained } = await client.query(
      `explain (analyze, buffers, format json) execute searched (${input})`,
    );
    return explained[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'];
  } finally {
    await client.end();
  }
}

test('an account with many new events gets turns, and others theirs in between', async () => {
  const [busy, other] = [await createScene(), await createScene()];
  const condition = { type: 'LONGER_THAN', minutes: 5 };
  await busy.createRule(condition);
  const rule = await other.createRule(condition);
  await other.started();
  await busy.copyEvents(5_000);
  clock.advance(400);
  const turns = createAlertTurns(deps);
  assert.equal(await turns.takeTurns(), true);
  assert.equal(await other.countAlerts(rule), 1);
  const reading = async () =>
    (
      await server.database.query<{ behind: boolean }>(
        `select p.position < l.last_position as behind from alert_position p join event_position l using (account_id)
         where account_id = $1`,
        [busy.account.accountId],
      )
    )[0]?.behind;
  assert.equal(await reading(), true);
  while (await turns.takeTurns());
  assert.equal(await reading(), false);
});

test('an account whose alerts cannot be raised rests, and goes on with a smaller part', async () => {
  const { createRule, copyRuns, countAlerts, started } = await createScene();
  const rule = await createRule({ type: 'LONGER_THAN', minutes: 5 });
  await started();
  await copyRuns('RUNNING', 0, 99);
  clock.advance(400);
  let calls = 0;
  const newId = () => {
    calls += 1;
    if (calls === 1) throw new Error('broken');
    return deps.newId();
  };
  let elapsed = 0;
  const turns = createAlertTurns({ ...deps, newId }, () => elapsed);
  for (let round = 0; round < 2; round += 1) while (await turns.takeTurns());
  assert.equal(await countAlerts(rule), 0);
  elapsed += 10_001;
  assert.equal(await turns.takeTurns(), true);
  assert.equal(await countAlerts(rule), 25);
  while (await turns.takeTurns());
  assert.equal(await countAlerts(rule), 100);
});
