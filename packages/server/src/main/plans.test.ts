/** With 100,000 rows in a table, every statement of the server uses an index. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { fillTables, smallTables } from '../../testing/large-tables.ts';
import { startTestServer } from '../../testing/server.ts';
import { analyzeGrownTables } from '../kernel/database/statistics.ts';
import { listStatements, type PreparedStatement } from '../kernel/database/trips/statement.ts';
import { planning } from './database.ts';

const rows = 100_000;
/**
 * The limit of a plan, in the planner's units. A full scan of such a table costs at least 2,500; 500 rows
 * by an index cost about 1,300.
 */
const mostCost = 2_300;

/** Statements that read many rows, by a part of their text, with the reason. */
const exempt: readonly (readonly [part: string, reason: string])[] = [
  ["c.account_role = 'DIRECTORY'", 'an account has few credentials'],
  ['count(*)::bigint as total from credential', 'an exact total of few rows: an account has few credentials'],
  [
    'from role_grant g where g.account_id = c.account_id',
    'a page of credentials, of which an account has few',
  ],
  ['count(*)::bigint as total from directory_user where account_id = $account_id) end', 'an exact total'],
  ['count(*)::bigint as total from directory_group where account_id = $account_id) end', 'an exact total'],
  ['from directory_group g where g.account_id = $account_id order by', 'estimated for a tenth of all groups'],
  [') holder join ( select user_id as principal_id', 'an exact total of the principals of one project'],
  [
    'lateral rights($account_id::uuid, $principal_id::uuid, $project_id::uuid, e.name',
    'a project has few environments',
  ],
  [
    'select (select count(*) from credential where account_id',
    'an exact total of the users and credentials of an account',
  ],
  ['select distinct g.principal_id from granted_role g', 'the principals of one project'],
  [
    'select * from ((select * from ( select c.credential_id as principal_id',
    'estimated for a tenth of all principals; a page looks up each of its own by an index',
  ],
  ['wanted as materialized', 'reads the groups of the caller twice, by an index'],
  ['count(*)::bigint as total from project where', 'an exact total of few rows: an account has few projects'],
  [
    'from shared_pipeline_version v where v.account_id = $account_id and (not $enabled_only',
    'an exact total of few rows',
  ],
  ['select distinct prefix from shared_pipeline_version', 'a page of few prefixes'],
  ['from blob where account_id = $account_id and object_key', 'rare: an index would cost each upload more'],
  [
    'with due as materialized ( select b.digest',
    'estimated for 500 blobs whose chunks are looked up one by one',
  ],
  ['delete from manifest_chunk c', 'estimated for many digests, each looked up by an index'],
  ['update blob b set condemned_at', 'estimated for many digests, each looked up by an index'],
  [
    ') newest where',
    'estimated for a tenth of all rows; a page reads as many as it shows where no filter is given',
  ],
  ['from pg_class c where', 'the catalog, with a row for each table and index'],
  [
    'as next_ticks, b.backfill_id',
    'estimated for a third of the backfills under way, of which there are few, each looked up by an index',
  ],
  [
    'select w.account_id, w.webhook_id as work_id from webhook w join',
    'estimated for all webhooks of an account: 100',
  ],
  ['select count(*) from project p join ai_task t', 'an exact total of the tasks of an account'],
  ['from project p cross join lateral ( select t.task_id', 'estimated for a tenth of all projects'],
  [
    'coalesce($agent_id::uuid, e.default_agent_id, ( select min(',
    'an account has few environments and agents',
  ],
  ['coalesce(e.default_agent_id, (select min(agent_id::text)', 'an account has few environments and agents'],
  ['coalesce($agent_id::uuid, e.default_agent_id, (select min(agent_id::text)', 'an account has few agents'],
  ['coalesce(o.agent_id, tokens.agent_id, client.agent_id', 'an account has few agents'],
  [
    "exists (select from agent a where a.account_id = e.account_id and a.status <> 'pending')",
    'an account has few agents',
  ],
];

const server = await startTestServer();

/** With the planner settings of the server's connections. */
async function onClient(work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...server.database.connection, options: planning });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Total Cost': number;
  Plans?: Node[];
}

const plain = ({ source }: PreparedStatement) => source.replaceAll(/\s+/g, ' ').trim();

async function planOf(client: pg.Client, { name, text, parameters }: PreparedStatement): Promise<Node> {
  await client.query(`prepare "plan ${name}" as ${text}`);
  const input = parameters.length === 0 ? '' : `(${Array(parameters.length).fill('null').join(', ')})`;
  const { rows: explained } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `explain (format json) execute "plan ${name}" ${input}`,
  );
  const [first] = explained;
  assert.ok(first, text);
  return first['QUERY PLAN'][0].Plan;
}

function readWhole(node: Node): string[] {
  const relation = node['Relation Name'];
  const here = node['Node Type'] === 'Seq Scan' && relation !== undefined ? [relation] : [];
  return [...here, ...(node.Plans ?? []).flatMap(readWhole)];
}

test('no statement scans a large table, and none costs much more than the rows it returns', async () => {
  const { accountId } = await server.account();
  await fillTables(server.database, accountId, rows);
  await onClient(checkPlans);
});

async function checkPlans(client: pg.Client): Promise<void> {
  const faults: string[] = [];
  const unknown = new Set(exempt.map(([part]) => part));
  let looked = 0;
  for (const each of listStatements()) {
    // Has no plan.
    if (/^\s*lock /i.test(each.text)) continue;
    looked += 1;
    const parts = exempt.filter(([part]) => plain(each).includes(part)).map(([part]) => part);
    for (const part of parts) unknown.delete(part);
    const plan = await planOf(client, each);
    const whole = readWhole(plan).filter((table) => !smallTables.includes(table));
    if (whole.length === 0 && plan['Total Cost'] <= mostCost) continue;
    if (parts.length === 0)
      faults.push(
        `cost ${Math.round(plan['Total Cost'])}, reads whole: ${whole.join(', ') || 'nothing'}: ${plain(each)}`,
      );
  }
  assert.deepEqual(faults, []);
  assert.deepEqual([...unknown], [], 'exemptions without a statement');
  assert.ok(looked > 200, `only ${looked} statements`);
}

test('a plan for an empty table is replaced soon after the table has grown', () =>
  onClient(async (client) => {
    const { query } = server.database;
    // It could analyze the table first.
    await query('alter table secret_check set (autovacuum_enabled = false)');
    await query('truncate secret_check cascade');
    await query('analyze secret_check');
    await client.query('prepare grown as select 1 from secret_check where created_at < $1');
    const plan = async () => {
      const explained = await client.query<{ 'QUERY PLAN': string }>("explain execute grown ('2000-01-01')");
      return explained.rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    assert.match(await plan(), /Seq Scan/);
    await query(`
      insert into secret_check (account_id, check_id, project_id, planned, created_at)
      select account_id, md5(n::text)::uuid, project_id, '{}', now() - n * interval '1 second'
      from (select account_id, project_id from project limit 1) p, generate_series(1, 5000) n`);
    assert.match(await plan(), /Seq Scan/);
    assert.equal(await analyzeGrownTables(server.deps.database), 1);
    assert.doesNotMatch(await plan(), /Seq Scan/);
    assert.equal(await analyzeGrownTables(server.deps.database), 0);
  }));
