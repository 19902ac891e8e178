/**
 * What is Redshift's own. Its leader node descends from PostgreSQL 8.0: it has no `pg_stat_activity` that is filled, no
 * arrays in parameters, and refuses settings that PostgreSQL has (IntervalStyle, standard_conforming_strings, …).
 */
import type { Client } from 'pg';
import type { PostgresAccess } from '../postgres/postgres-access.ts';
import { getServerCode } from '../postgres/postgres-errors.ts';
import { readCluster, schemaQuery } from '../postgres/postgres-server.ts';
import { ownTables, refuseOwnCluster, refuseOwnTables, type ServerKind } from '../postgres/server-kind.ts';
import { readFirstWord } from '../statements/sql-words.ts';
import { requireReadOnlyUser } from './reading-user.ts';

/** `set_config` and SHOW of them are for the leader node; each is a statement of its own. */
const settings = ["set timezone to 'UTC'", "set datestyle to 'ISO, YMD'", 'set extra_float_digits to 2'];

/** Statements of people. UNLOAD and COPY write elsewhere, whatever the transaction is. */
const readingWords = new Set(['select', 'with', 'show', 'explain', 'values', '(', '']);

export const redshiftServer: ServerKind = {
  name: 'redshift',
  port: 5_439,
  // It has neither savepoints nor DO, by which a statement could be tried.
  bindsSecrets: false,
  // It has no sequences, and takes one privilege at a time.
  writes: `(${['INSERT', 'UPDATE', 'DELETE'].map((each) => `has_table_privilege(c.oid, '${each}')`).join(' or ')})`,
  beginReading: 'BEGIN READ ONLY',
  async prepare(client, access, { systemIdentifier }, tag) {
    await refuseControlPlane(client, access, systemIdentifier);
    for (const setting of settings) await client.query(setting);
    if (access.schema !== undefined)
      await client.query(`set search_path to ${client.escapeIdentifier(access.schema)}, public`);
    // It names the queries in the monitoring views of the server.
    await client.query(`set query_group to ${client.escapeLiteral(tag)}`);
    const { rows } = await client.query<{ version: string; pid: number }>(
      'select version() as version, pg_backend_pid() as pid',
    );
    const [{ version = '', pid = 0 } = {}] = rows;
    return {
      serverVersion: /Redshift [\d.]+/.exec(version)?.[0] ?? version.slice(0, 200),
      processId: pid,
      startedAt: (await readStart(client, pid)) ?? '',
    };
  },
  async cancel(client, { processId, startedAt }, isInTransaction) {
    if (startedAt !== '' && (await readStart(client, processId)) !== startedAt) return;
    // The server cancels no query of a transaction block: its session has to end.
    const call = isInTransaction ? 'pg_terminate_backend' : 'pg_cancel_backend';
    await client.query(`select ${call}(${Number(processId)})`);
  },
  async end(client, { processId, startedAt }) {
    // The server lists only the sessions of the own login to a user that is no superuser.
    if ((await readStart(client, Number(processId))) !== startedAt) return false;
    await client.query(`select pg_terminate_backend(${Number(processId)})`);
    return true;
  },
  async canUseSchema(client, schema) {
    // Names are in lower case there, unless enable_case_sensitive_identifier is set.
    const find = async (name: string) =>
      (await client.query<{ usable: boolean }>(schemaQuery, [name])).rows[0]?.usable;
    return (await find(schema)) ?? find(schema.toLowerCase());
  },
  requireReadOnlyRole: requireReadOnlyUser,
  requireReadingSql(sql) {
    const word = readFirstWord(sql);
    if (!readingWords.has(word))
      throw new Error(
        `${word.toUpperCase()} is refused: a query of a person begins with SELECT, WITH, SHOW or EXPLAIN`,
      );
  },
};

async function refuseControlPlane(
  client: Client,
  { name }: PostgresAccess,
  systemIdentifier: string | undefined,
): Promise<void> {
  const names = ownTables.map((table) => `'${table}'`).join(', ');
  const { rows } = await client.query<{ relname: string }>(
    `select distinct relname from pg_catalog.pg_class where relkind = 'r' and relname in (${names})`,
  );
  if (rows.length === ownTables.length) throw refuseOwnTables(name);
  if (systemIdentifier !== undefined && (await readCluster(client)) === systemIdentifier)
    throw refuseOwnCluster(name);
}

/** When a session of the own login began; undefined if there is none, or the role may not see it. */
async function readStart(client: Client, processId: number): Promise<string | undefined> {
  const sql = `select starttime::varchar as started_at from stv_sessions
    where process = ${Number(processId)} and trim(user_name) = current_user`;
  try {
    return (await client.query<{ started_at: string }>(sql)).rows[0]?.started_at;
  } catch (failure) {
    if (getServerCode(failure) === undefined) throw failure;
    return undefined;
  }
}
