/**
 * Makes every table look as if it had many rows of one account, so that query plans are those of a large
 * installation. They get every seventh row, in as many pages, and statistics of all rows: the planner knows nothing
 * else of them, and to insert all rows takes most of a minute.
 */
import type { TestDatabase } from './database.ts';

interface Column {
  table: string;
  name: string;
  type: string;
  /** The first label, for an enum. */
  label: string | null;
  isNullable: boolean;
  /** The last column of the primary key, which differs in each row. */
  endsKey: boolean;
}

/** Tables that stay small, because their rows belong to the installation. */
export const smallTables = [
  'schema_migration',
  'signing_key',
  'certificate_authority',
  'account',
  'alert_position',
  'event_position',
  'repositories_folder',
];

/** For tables that few operations read: enough rows for the plan of a large table. */
const lessRows = 20_000;
const hotTables =
  /^(agent.*|credential|directory_.*|environment|event|execution_step|idempotency_record|pipeline_execution|project|role_grant|secret_.*|server_work|variable.*|work)$/;

/** Values required by constraints or typical of real rows; `n` is the row number. */
const values: Readonly<Record<string, string>> = {
  'agent.status':
    "(array['unknown', 'running', 'pausing', 'stopped'])[case when n % 100 > 1 then 2 else 1 end + n % 2]",
  'agent.environment_share': '50',
  'agent.weights': "'[]'",
  'agent.track_name': "'current'",
  'agent_certificate.key_type': "'EC'",
  'agent_allowed_place.agent_id': 'md5((n / 100)::text)::uuid',
  'agent_allowed_place.project_id': 'md5((n % 100)::text)::uuid',
  'agent_request.request': "'{}'",
  'agent_request.state': "'ANSWERED'",
  'ai_call.input': "'{}'",
  'ai_call.outcome': "case when n % 100 > 0 then 'DONE' end",
  'ai_call.status': "case when n % 100 = 0 then 'WAITING' else 'ENDED' end",
  'ai_call.task_id': 'md5((n / 10)::text)::uuid',
  'ai_edit.stage': "'PROPOSED'",
  'ai_edit.task_id': 'md5((n / 10)::text)::uuid',
  'ai_grant.task_id': 'md5((n / 2)::text)::uuid',
  'ai_message.task_id': 'md5((n / 50)::text)::uuid',
  'ai_run.kind': "'PIPELINE'",
  'ai_run.task_id': 'md5((n / 10)::text)::uuid',
  'ai_task.status': "case when n % 100 = 0 then 'RUNNING' else 'STOPPED' end",
  'ai_turn.status': "'ANSWERED'",
  'ai_turn.task_id': 'md5((n / 10)::text)::uuid',
  'ai_usage.used_on': 'current_date - n',
  'ai_working_copy.environment_name': 'null',
  'ai_working_copy.source_branch': "'main'",
  'ai_working_copy.state': "case when n % 100 = 0 then 'OPEN' else 'MERGED' end",
  'alert_mail.is_confirmation': 'n % 1000 = 0',
  'alert_mail.invitation_id': 'case when n % 1000 = 1 then md5(n::text)::uuid end',
  'alert_mail.project_id': 'case when n % 1000 > 1 then md5((n / 100)::text)::uuid end',
  'alert_mail_part.alert_id': 'md5((n / 2)::text)::uuid',
  'alert_mail_part.reason': 'null',
  'alert_mail.state': "case when n % 100 = 0 then 'pending' else 'sent' end",
  'artifact_version.promoted_from': 'null',
  'artifact_version.promoted_by': 'null',
  'backfill.status': "case when n % 100 = 0 then 'RUNNING' else 'COMPLETED' end",
  'backfill.next_round_at': 'case when n % 100 = 0 then now() end',
  'backfill.ended_at': 'case when n % 100 > 0 then now() end',
  'backfill.counts': "case when n % 100 > 0 then '{}'::jsonb end",
  'blob_object.state':
    "(case when n % 100 = 0 then 'pending' when n % 100 = 1 then 'doomed' else 'live' end)::blob_object_state",
  'budget.stop_at': '1000',
  'credential.account_role': "'MEMBER'",
  'directory_group.role': "'VIEWER'",
  'directory_member.identity_issuer_id': 'case when n % 100 = 0 then md5((n % 20)::text)::uuid end',
  'directory_member.group_id': 'md5((n / 100)::text)::uuid',
  'directory_role.group_id': 'md5(n::text)::uuid',
  'connector_authorization.work_id': 'case when n % 2 = 0 then md5(n::text)::uuid end',
  'connector_oauth.grant_type': "'AUTHORIZATION_CODE'",
  'connector_oauth.state': "'AUTHORIZED'",
  // An account has 500 of a kind at most.
  'connector_profile.account_id': 'case when n <= 500 then $1 else md5((n / 500)::text) end::uuid',
  'connector_profile.kind': "'flex'",
  'directory_role.role': "'VIEWER'",
  // An account has 100 at most.
  'enterprise_oauth.account_id': 'case when n <= 100 then $1 else md5((n / 100)::text) end::uuid',
  'enterprise_oauth.provider': "'github'",
  'event.position': 'case when n % 1000 > 0 then n end',
  'event.sequence': 'n',
  'event_position.marked_transaction': 'null',
  'execution_step.status': "'SUCCESS'",
  'git_review.outcome': "'success'",
  // An account has 20 at most.
  'custom_role.account_id': 'case when n <= 100 then $1 else md5((n / 100)::text) end::uuid',
  'custom_role.level': "'PROJECT'",
  'custom_role.name': "'ROLE_' || n",
  'identity_issuer.account_id': 'case when n <= 20 then $1 else md5((n / 20)::text) end::uuid',
  'identity_issuer.user_attribute': "'userName'",
  // An account has 1,000 at most.
  'invitation.account_id': 'case when n <= 1000 then $1 else md5((n / 1000)::text) end::uuid',
  'invitation_group.invitation_id': 'md5((n / 20)::text)::uuid',
  'invitation_role.invitation_id': 'md5((n / 20)::text)::uuid',
  'personal_token.account_role': "'MEMBER'",
  'personal_token.roles': "'[]'::jsonb",
  'personal_token.user_id': 'md5((n / 5)::text)::uuid',
  'program_authorization.kind': "'DEVICE'",
  'program_authorization.status': "case when n % 100 = 0 then 'PENDING' else 'USED' end",
  'program_authorization.user_id': 'md5((n / 5)::text)::uuid',
  'sign_in_session.identity_issuer_id': 'md5((n % 20)::text)::uuid',
  'sign_in_session.method': "'ISSUER'",
  'sign_in_session.user_id': 'md5((n / 5)::text)::uuid',
  'confirmation_day.day': 'current_date - n',
  'idempotency_record.pending_work_id': 'null',
  'lineage_event.event_type': "'COMPLETE'",
  'lineage_event.is_new': 'false',
  'lineage_event.work_id': 'case when n % 1000 = 0 then md5(n::text)::uuid end',
  'mail_address.asked_on': 'current_date',
  'mail_day.day': 'current_date - n',
  'pipeline_execution.running_tag': 'null',
  'repository.provider': "'git'",
  'repository_migration.mode': "'RECONFIGURE'",
  'repository_migration.status': "case when n % 100 = 0 then 'IN_PROGRESS' else 'COMPLETED' end",
  'repository_migration.token_rotation': 'null',
  'role_grant.credential_id': 'md5((n / 10)::text)::uuid',
  'role_grant.role': "'VIEWER'",
  'role_grant.user_id': 'null',
  'schedule.interval_length': 'null',
  'schedule.interval_unit': 'null',
  'schedule.next_tick_at': "now() + n * interval '1 second'",
  'secret_write.sealed_value': 'null',
  'secret_write.status': "'WRITTEN'",
  'streaming_pipeline.status': "'stopped'",
  'server_work.due_at': "case when n % 100 = 0 then now() + n * interval '1 second' end",
  'server_work.interruptions': '0',
  'server_work.kind': "(array['ai-task', 'alert-mail', 'git-delivery', 'webhook'])[1 + n % 4]",
  'server_work.lease_until': 'null',
  'test_execution.running_tag': 'null',
  'test_execution_result.status': "'PASSED'",
  // An account has 100 at most.
  'webhook.account_id': 'case when n <= 100 then $1 else md5((n / 100)::text) end::uuid',
  'webhook.state': "'active'",
  'environment.quality_gate': "'NONE'",
  'webhook.format': "'json'",
  'webhook.event_names': "'{}'",
  'webhook_delivery.status': "(array['delivered', 'delivered', 'delivered', 'pending', 'dead'])[1 + n % 5]",
  'webhook_delivery.webhook_id': 'md5((n / 200)::text)::uuid',
  'project.sql_dialect': "'SNOWFLAKE'",
  'work.command': 'null',
  'work.kind': "'pipeline-execution'",
  'work.state': "(array['queued', 'held', 'silent', 'ended'])[1 + n % 4]::work_state",
  'work.due_at': "case when n % 4 < 3 then now() + n * interval '1 second' end",
};

/** Shares no factor with the numbers of projects, agents and environments, which all occur. */
const rowsPerStored = 7;
/** How much of a page is used, in percent. */
const fillFactor = Math.floor(100 / rowsPerStored);

export async function fillTables(database: TestDatabase, accountId: string, rows: number): Promise<string[]> {
  const columns = await listColumns(database);
  const tables = [...Map.groupBy(columns, (column) => column.table)].filter(
    ([table]) => !smallTables.includes(table),
  );
  for (const [table, all] of tables) {
    const names = all.map(({ name }) => name).join(', ');
    const input = all.map((column) => sqlValue(column)).join(', ');
    const last = hotTables.test(table) ? rows : lessRows;
    // One query string, so that the setting applies to it only. Foreign key triggers do not run. The automatic
    // analysis would count the stored rows.
    await database.query(`
      begin; set local session_replication_role = replica;
      alter table ${table} set (autovacuum_enabled = off, fillfactor = ${fillFactor});
      insert into ${table} (${names}) select ${input.replaceAll('$1', `'${accountId}'`)} from generate_series(1, ${last}, ${rowsPerStored}) n
      on conflict do nothing;
      commit`);
  }
  const filled = tables.map(([table]) => table);
  // 30 most common values and borders of each column, of 9,000 rows, are enough for these values.
  await database.query('begin; set local default_statistics_target = 30; analyze; commit');
  await database.query(
    `update pg_class set reltuples = reltuples * $2
     where oid = any($1::regclass[]) or oid in (select indexrelid from pg_index where indrelid = any($1::regclass[]))`,
    [filled, rowsPerStored],
  );
  return filled;
}

function listColumns(database: TestDatabase): Promise<Column[]> {
  return database.query<Column & Record<string, unknown>>(`
    select c.table_name as table, c.column_name as name, c.udt_name as type, c.is_nullable = 'YES' as "isNullable",
      (select e.enumlabel from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typname = c.udt_name order by e.enumsortorder limit 1) as label,
      c.column_name = (
        select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[i.indnkeyatts - 1]
        where i.indrelid = c.table_name::regclass and i.indisprimary) is true as "endsKey"
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER' and c.is_identity = 'NO'
    order by c.table_name, c.ordinal_position`);
}

/** Most keys repeat, like the projects of variables; the last column of a primary key does not. */
function sqlValue({ table, name, type, label, endsKey }: Column): string {
  const input = values[`${table}.${name}`];
  if (input !== undefined) return input;
  if (name === 'account_id') return '$1';
  const number = endsKey ? 'n' : 'n % 1000';
  switch (type) {
    case 'uuid':
      return `md5((${number})::text)::uuid`;
    case 'text':
      return /^(environment_name|trigger)$/.test(name) && !endsKey ? `'e' || n % 20` : `'t' || n`;
    case 'bytea':
      return "decode(md5(n::text), 'hex')";
    case 'timestamptz':
      return "now() - n * interval '1 minute'";
    case 'jsonb':
      return "'{}'";
    case 'bool':
      return 'n % 2 = 0';
    case 'int2':
    case 'int4':
    case 'int8':
    case 'float8':
    case 'numeric':
      return 'n % 100';
    default:
      if (label !== null) return `'${label}'`;
      return type === '_bytea' ? "array[decode(md5(n::text), 'hex')]" : "'{}'";
  }
}
