import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

const folder = join(import.meta.dirname, '../../migrations');
/** One lock for all servers that start on one database: the first migrates, the others wait and find nothing to do. */
const migrationLock = 7_203_118;
const oldestSupported = 150_000;

/**
 * Brings the database to the newest version: the numbered files of `migrations/`, each in a transaction of its own, forward only.
 * Refuses a server older than PostgreSQL 15 and a file that changed after it was applied. Answers the names of what it applied.
 */
export async function migrate(connection: pg.ClientConfig): Promise<string[]> {
  const client = new pg.Client(connection);
  // A connection that breaks fails the statement under way; without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const version = await client.query<{ server_version_num: string }>('show server_version_num');
    if (Number(version.rows[0]?.server_version_num) < oldestSupported) {
      throw new Error('The database is older than PostgreSQL 15: give DATABASE_URL of a newer one.');
    }
    await refuseTransactionPooler(client);
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    await client.query(
      `create table if not exists schema_migration (
        name text not null constraint schema_migration_key primary key, checksum text not null, applied_at timestamptz not null default now())`,
    );
    const known = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from schema_migration',
    );
    const applied = new Map(known.rows.map((row) => [row.name, row.checksum]));
    const done: string[] = [];
    for (const name of (await readdir(folder)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).sort()) {
      if (await applyOnce(client, name, applied.get(name))) done.push(name);
    }
    return done;
  } finally {
    await client.end();
  }
}

async function applyOnce(client: pg.Client, name: string, before: string | undefined): Promise<boolean> {
  const text = await readFile(join(folder, name), 'utf8');
  const checksum = createHash('sha256').update(text).digest('hex');
  if (before === checksum) return false;
  if (before !== undefined)
    throw new Error(`The migration ${name} was changed after it was applied to this database.`);
  await client.query('begin');
  try {
    await client.query(text);
    await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [name, checksum]);
    await client.query('commit');
    return true;
  } catch (failure) {
    await client.query('rollback');
    throw failure;
  }
}

/** A transaction pooler gives each transaction another connection, which breaks prepared statements, LISTEN and session locks. */
async function refuseTransactionPooler(client: pg.Client): Promise<void> {
  const first = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const second = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  await client.query("set application_name = 'headgate migration'");
  const name = await client.query<{ application_name: string }>('show application_name');
  const stable = first.rows[0]?.pid === second.rows[0]?.pid;
  if (!stable || name.rows[0]?.application_name !== 'headgate migration') {
    throw new Error(
      'DATABASE_URL leads through a transaction pooler: name the database itself, or a session pool, for LISTEN and prepared statements.',
    );
  }
}
