/** Replaces the whole content of the database, in one transaction. */
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type AppliedMigration, applyMigrations, lockMigrations } from '../../kernel/database/migrate.ts';
import { type CopiedTable, formatColumns, listCopiedTables } from './snapshot.ts';

const selectServers = `
  select count(*)::int as count from pg_stat_activity
  where datname = current_database() and application_name in ('headgate', 'headgate listener') and pid <> pg_backend_pid()`;

/** A server on another machine holds no lock here, but its connections show it. */
export async function refuseConnectedServers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ count: number }>(selectServers);
  if (rows[0]?.count === 0) return;
  throw new Error(
    `Headgate runs on this database (${rows[0]?.count} connections). Stop every server on it, then restore again.`,
  );
}

export type Occupancy = 'free' | 'in use' | 'foreign';

/** What a restore would replace: nothing, the data of a Headgate, or the tables of another program. */
export async function readOccupancy(client: pg.Client): Promise<Occupancy> {
  const tables = await listCopiedTables(client);
  if (tables.length === 0) return 'free';
  const known = await client.query<{ found: boolean }>(
    "select to_regclass('schema_migration') is not null as found",
  );
  if (known.rows[0]?.found !== true) return 'foreign';
  // Before the first migration there are no tables; before the first start, no account.
  if (!tables.some((table) => table.name === 'account')) return 'free';
  const { rows } = await client.query<{ found: boolean }>('select exists (select from account) as found');
  return rows[0]?.found === true ? 'in use' : 'free';
}

const selectFunctions = `
  select p.oid::regprocedure::text as name from pg_proc p
  where p.pronamespace = current_schema()::regnamespace and p.prokind = 'f'
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;

const selectWordTypes = `
  select t.oid::regtype::text as name from pg_type t where t.typnamespace = current_schema()::regnamespace and t.typtype = 'e'`;

/** Begins the transaction and empties the database, at the backup's version of the schema. */
export async function beginRefill(client: pg.Client, migrations: readonly AppliedMigration[]): Promise<void> {
  await client.query('begin');
  // A server that starts now waits with its migrations.
  await lockMigrations(client);
  const tables = (await listCopiedTables(client)).map((table) => table.name);
  for (const name of ['schema_migration', ...tables])
    await client.query(`drop table if exists ${pg.escapeIdentifier(name)} cascade`);
  const functions = await client.query<{ name: string }>(selectFunctions);
  for (const { name } of functions.rows) await client.query(`drop function if exists ${name} cascade`);
  const words = await client.query<{ name: string }>(selectWordTypes);
  for (const { name } of words.rows) await client.query(`drop type ${name}`);
  await applyMigrations(client, migrations);
  const made = (await listCopiedTables(client)).map((table) => pg.escapeIdentifier(table.name));
  // The backup includes the rows that migrations insert.
  if (made.length > 0) await client.query(`truncate ${made.join(', ')}`);
}

export interface Filling {
  table: string;
  write(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
}

/** Begins to fill a table. The connection can do nothing else until `end`. */
export function fillTable(client: pg.Client, table: CopiedTable): Filling {
  const stream = client.query(copyFrom(`copy ${formatColumns(table)} from stdin`));
  const over = finished(stream);
  over.catch(() => undefined);
  return {
    table: table.name,
    async write(bytes) {
      if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), over]);
    },
    async end() {
      stream.end();
      await over;
    },
  };
}

const selectIdentities = `
  select c.relname::text as table_name, a.attname::text as column_name
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.attidentity <> ''`;

const selectEventLog = "select to_regclass('event_position') is not null as found";
/** Retention may have removed the events with the highest sequences, but the log goes on after them. */
const advanceEventSequence = `
  select setval('event_sequence', 1 + greatest(0, (select max(sequence) from event), (select max(last_sequence) from event_position)), false)`;

/** Backups from before the event log have no sequences: the migration makes them. */
async function continueEventLog(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ found: boolean }>(selectEventLog);
  if (rows[0]?.found === true) await client.query(advanceEventSequence);
}

/**
 * Agents that claimed work before or after the backup lose it: no epoch that they know matches the restored
 * work, so their reports are refused, and the work ends by its time limit or is claimed again.
 */
const fenceHolders = "update work set epoch = epoch + 1000000 where state <> 'ended'";

const selectPlaces = `
  select exists (
    select from information_schema.columns where table_schema = current_schema() and table_name = 'blob' and column_name = 'object_key') as found`;
const deleteUntaken = `
  delete from blob b using blob_object o
  where o.account_id = b.account_id and o.object_key = b.object_key and o.state = 'pending'`;
const placeBlobs = `
  update blob set object_offset = 0, object_key = case when size = 0 then '' else left(digest, 2) || '/' || digest end`;
const insertObjects = `
  insert into blob_object (account_id, object_key, state, size, live_bytes, since)
  select account_id, object_key, 'live', size, size, now() from blob where size > 0`;

/**
 * The restore stores each blob as its own object, so the places of the backup do not apply. Backups from
 * before packs have no places.
 */
async function placeRestoredBlobs(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ found: boolean }>(selectPlaces);
  if (rows[0]?.found !== true) return;
  await client.query(deleteUntaken);
  await client.query(placeBlobs);
  await client.query('delete from blob_object');
  await client.query(insertObjects);
}

/** Finishes the refilled database and commits. */
export async function commitRefill(client: pg.Client): Promise<void> {
  const identities = await client.query<{ table_name: string; column_name: string }>(selectIdentities);
  for (const { table_name, column_name } of identities.rows) {
    const [table, column] = [pg.escapeIdentifier(table_name), pg.escapeIdentifier(column_name)];
    await client.query(
      `select setval(pg_get_serial_sequence($1, $2), coalesce(max(${column}), 0) + 1, false) from ${table}`,
      [table, column_name],
    );
  }
  await continueEventLog(client);
  await placeRestoredBlobs(client);
  await client.query(fenceHolders);
  await client.query('commit');
  await client.query('analyze');
}
