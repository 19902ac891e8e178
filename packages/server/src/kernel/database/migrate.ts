import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

const folder = join(import.meta.dirname, '../../../migrations');
/** What the database has of each function, view and trigger today; migrations made the first ones. */
const functionsFolder = join(folder, 'functions');
/**
 * Servers that start on the same database take this lock: the first migrates, the others wait and find
 * nothing to do.
 */
const migrationLock = 7_203_118;
const oldestSupported = 150_000;

/** As stored in the database. */
export interface AppliedMigration {
  name: string;
  checksum: string;
}

interface Migration extends AppliedMigration {
  text: string;
}

/**
 * Applies the numbered files of `migrations/` that are missing, each in its own transaction, forward only.
 * Refuses PostgreSQL before 15, and a file that changed after it was applied. The functions are replaced in the
 * transaction of the last one, or in their own if they alone changed: no server sees new tables with old functions.
 * Returns the names of the applied migrations.
 */
export async function migrate(connection: pg.ClientConfig): Promise<string[]> {
  const client = new pg.Client(connection);
  // A connection that breaks fails the statement under way; without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await refuseOldServer(client);
    await refuseTransactionPooler(client);
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    const applied = await refuseNewerSchema(client);
    await client.query(createMigrationTable);
    const missing = (await readMigrations()).filter((migration) => isMissing(migration, applied));
    const functions = await readFunctions();
    for (const migration of missing.slice(0, -1))
      await inTransaction(client, () => applyMigration(client, migration));
    const last = missing.at(-1);
    if (last !== undefined)
      await inTransaction(client, async () => {
        await applyMigration(client, last);
        await replaceFunctions(client, functions);
      });
    else if ((await readFunctionsMark(client)) !== functions.mark)
      await inTransaction(client, () => replaceFunctions(client, functions));
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/**
 * Refuses a database with a migration that this program does not have, before anything is written: the program would
 * write rows that the newer one does not expect. Returns the checksums of the applied migrations by name.
 */
export async function refuseNewerSchema(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const table = await client.query<{ found: boolean }>(
    "select to_regclass('schema_migration') is not null as found",
  );
  if (table.rows[0]?.found !== true) return new Map();
  const { rows } = await client.query<AppliedMigration>(
    'select name, checksum from schema_migration order by name collate "C"',
  );
  const names = (await readMigrations()).map(({ name }) => name);
  const known = new Set(names);
  const newest = rows.findLast(({ name }) => !known.has(name));
  if (newest === undefined) return new Map(rows.map(({ name, checksum }) => [name, checksum]));
  throw new Error(
    `The database was migrated by a later version of Headgate: it has ${newest.name}, and the newest migration of this ` +
      `version is ${names.at(-1)}. Nothing was changed. Use that version or a later one; to go back, restore a backup ` +
      'that was made before the upgrade: npm run restore -- FILE --force',
  );
}

/** Prevents servers from migrating until the caller's transaction ends. */
export async function lockMigrations(client: pg.Client): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [migrationLock]);
}

/** Refuses a backup with a migration that this program does not have, before anything is written. */
export async function refuseNewerBackup(expected: readonly AppliedMigration[]): Promise<void> {
  const migrations = await readMigrations();
  const known = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
  const newest = expected.findLast(({ name, checksum }) => known.get(name) !== checksum);
  if (newest === undefined) return;
  throw new Error(
    `The backup contains the migration ${newest.name}, which this version of Headgate does not have: its newest is ` +
      `${migrations.at(-1)?.name}. Nothing was changed. Restore it with the version that made it, or a later one.`,
  );
}

/** Applies the migrations `wanted`, which this program has, to an empty database, in the caller's transaction. */
export async function applyMigrations(
  client: pg.Client,
  expected: readonly AppliedMigration[],
): Promise<void> {
  await refuseNewerBackup(expected);
  const names = new Set(expected.map(({ name }) => name));
  await client.query(createMigrationTable);
  for (const migration of await readMigrations())
    if (names.has(migration.name)) await applyMigration(client, migration);
}

async function refuseOldServer(client: pg.Client): Promise<void> {
  const version = await client.query<{ server_version_num: string }>('show server_version_num');
  if (Number(version.rows[0]?.server_version_num) < oldestSupported) {
    throw new Error('The database is older than PostgreSQL 15. Set DATABASE_URL to PostgreSQL 15 or later.');
  }
}

const createMigrationTable = `
  create table if not exists schema_migration (
    name text not null constraint schema_migration_key primary key, checksum text not null, applied_at timestamptz not null default now())`;

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

function isMissing({ name, checksum }: Migration, applied: ReadonlyMap<string, string>): boolean {
  const before = applied.get(name);
  if (before === undefined || before === checksum) return before === undefined;
  throw new Error(`The migration ${name} was modified after it was applied to this database.`);
}

async function inTransaction(client: pg.Client, apply: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await apply();
    await client.query('commit');
  } catch (failure) {
    await client.query('rollback');
    throw failure;
  }
}

async function applyMigration(client: pg.Client, { name, text, checksum }: Migration): Promise<void> {
  await client.query(text);
  await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [name, checksum]);
}

interface Functions {
  text: string;
  /** As stored in the database: the comment of `schema_migration`, which no backup has. */
  mark: string;
}

async function readFunctions(): Promise<Functions> {
  const names = (await readdir(functionsFolder)).filter((file) => file.endsWith('.sql')).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(functionsFolder, name), 'utf8')));
  const text = texts.join('\n');
  return { text, mark: `functions ${createHash('sha256').update(text).digest('hex')}` };
}

async function readFunctionsMark(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ mark: string | null }>(
    "select obj_description('schema_migration'::regclass, 'pg_class') as mark",
  );
  return rows[0]?.mark ?? undefined;
}

async function replaceFunctions(client: pg.Client, { text, mark }: Functions): Promise<void> {
  await client.query(text);
  await client.query(`comment on table schema_migration is '${mark}'`);
}

/**
 * A transaction pooler may use another connection for each transaction. That breaks prepared statements,
 * LISTEN and session locks.
 */
async function refuseTransactionPooler(client: pg.Client): Promise<void> {
  const first = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const second = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  await client.query("set application_name = 'headgate migration'");
  const name = await client.query<{ application_name: string }>('show application_name');
  const stable = first.rows[0]?.pid === second.rows[0]?.pid;
  if (!stable || name.rows[0]?.application_name !== 'headgate migration') {
    throw new Error(
      'DATABASE_URL points to a transaction pooler, which breaks LISTEN and prepared statements. ' +
        'Connect to PostgreSQL directly, or use session pooling.',
    );
  }
}
