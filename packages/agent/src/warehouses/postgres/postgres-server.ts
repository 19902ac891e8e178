/** What is PostgreSQL's own: how a session is prepared, watched and ended. */
import type { Client } from 'pg';
import type { PostgresAccess } from './postgres-access.ts';
import { getServerCode } from './postgres-errors.ts';
import { requireReadOnlyRole } from './reading-role.ts';
import { ownTables, refuseOwnCluster, refuseOwnTables, type ServerKind } from './server-kind.ts';

export const postgresServer: ServerKind = {
  name: 'postgres',
  port: 5_432,
  bindsSecrets: true,
  writes: `case when c.relkind = 'S' then has_sequence_privilege(c.oid, 'USAGE, UPDATE')
    else has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER') or has_any_column_privilege(c.oid, 'INSERT, UPDATE') end`,
  beginReading: 'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY',
  async prepare(client, access, { systemIdentifier }) {
    const prepared = await prepareSession(client, access);
    if (systemIdentifier !== undefined && (await readCluster(client)) === systemIdentifier)
      throw refuseOwnCluster(access.name);
    // The server ends a statement whose agent is gone; older ones and some platforms cannot.
    await client.query("set client_connection_check_interval = '5s'").catch(() => undefined);
    return prepared;
  },
  async cancel(client, { processId, startedAt }) {
    await client.query(cancelStatement, [processId, startedAt]);
  },
  async end(client, { processId, startedAt, tag }) {
    const { rowCount } = await client.query(endStatement, [processId, startedAt, tag]);
    return rowCount === 1;
  },
  async canUseSchema(client, schema) {
    const { rows } = await client.query<{ usable: boolean }>(schemaQuery, [schema]);
    return rows[0]?.usable;
  },
  requireReadOnlyRole,
  // The server keeps the transaction and the role from writing.
  requireReadingSql: () => undefined,
};

const cancelStatement = `select pg_cancel_backend(pid) from pg_catalog.pg_stat_activity
  where pid = $1 and backend_start = $2::text::timestamptz`;
const endStatement = `select pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
  where pid = $1 and backend_start = $2::text::timestamptz and application_name = $3 and usename = current_user`;
export const schemaQuery =
  "select has_schema_privilege(oid, 'USAGE') as usable from pg_catalog.pg_namespace where nspname = $1";

async function prepareSession(client: Client, { name, schema }: PostgresAccess) {
  const { rows } = await client.query<{ version: string; pid: number; started_at: string; own: number }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid,
      (select backend_start::text from pg_catalog.pg_stat_activity where pid = pg_backend_pid()) as started_at,
      (select count(distinct relname)::integer from pg_catalog.pg_class where relkind = 'r' and relname = any ($1::text[])) as own,
      set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO, YMD', false),
      set_config('IntervalStyle', 'postgres', false), set_config('bytea_output', 'hex', false),
      set_config('extra_float_digits', '1', false), set_config('standard_conforming_strings', 'on', false),
      set_config('client_min_messages', 'warning', false),
      case when $2::text is not null then set_config('search_path', quote_ident($2::text) || ', public', false) end`,
    [ownTables, schema ?? null],
  );
  const [found] = rows;
  if (found?.own === ownTables.length) throw refuseOwnTables(name);
  return {
    serverVersion: found?.version ?? '',
    processId: found?.pid ?? 0,
    startedAt: found?.started_at ?? '',
  };
}

/** Undefined if the server does not say it. */
export async function readCluster(client: Client): Promise<string | undefined> {
  const sql = 'select system_identifier::text as cluster from pg_catalog.pg_control_system()';
  try {
    return (await client.query<{ cluster: string }>(sql)).rows[0]?.cluster;
  } catch (failure) {
    if (getServerCode(failure) === undefined) throw failure;
    return undefined;
  }
}
