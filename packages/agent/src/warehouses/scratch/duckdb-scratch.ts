/**
 * The scratch database of a test: where all of its writes land (docs/adr/0046).
 *
 * Terminology
 *   scratch        an attached database in memory, dropped with its connection
 *   real           the environment's own database
 *   stand-in       a view in scratch that reads the table of the same name in real
 *   copy           what takes the place of a stand-in before the first write to its table
 *   mark           a write to scratch at the beginning of each transaction. DuckDB lets a transaction write to
 *                  one database only, so no statement after the mark can write to real, however it is written
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { quoteName, quoteText } from '../statements/duckdb-names.ts';
import { createCatalogViews, ownSchema } from './duckdb-scratch-catalog.ts';

export interface Scratch {
  /** The catalogs' names. */
  readonly name: string;
  readonly real: string;
  /** The only folder to which the test's SQL may write files. */
  readonly filesFolder: string;
  /** The SQL of each stand-in, by `getTableKey`. */
  readonly standIns: ReadonlyMap<string, string>;
  /** The user's own transaction is open. */
  inTransaction: boolean;
}

/** Tables and views of an environment in which tests run. */
const tableLimit = 20_000;

export function getTableKey(schema: string, table: string): string {
  return JSON.stringify([schema.toLowerCase(), table.toLowerCase()]);
}

/**
 * Attaches a scratch database and makes it the default of the connection.
 *
 * @param name a name that no other database of the process has
 */
export async function openScratch(
  connection: DuckDBConnection,
  { name, filesFolder }: Pick<Scratch, 'name' | 'filesFolder'>,
): Promise<Scratch> {
  const [[real = ''] = []] = await readTexts(connection, 'select current_database()');
  const scratch = quoteName(name);
  await connection.run(`attach ':memory:' as ${scratch}`);
  await connection.run(`create schema ${scratch}.${ownSchema}`);
  await connection.run(`create table ${scratch}.${ownSchema}.mark (nothing integer)`);
  // In one transaction, so that no table disappears between its name and its stand-in.
  await connection.run('begin transaction');
  await createSchemas(connection, scratch, real);
  await createStandIns(connection, scratch, real);
  await connection.run('commit');
  const path = [`${scratch}.main`, `${quoteName(real)}.main`].join(',');
  await connection.run(`set search_path = ${quoteText(path)}`);
  await createSequences(connection, real);
  await createViews(connection, scratch, real);
  const made = await readTexts(
    connection,
    `select schema_name, view_name, sql from system.main.duckdb_views() where database_name = ${quoteText(name)}`,
  );
  await createCatalogViews(connection, { name, real });
  const standIns = new Map(
    made.map(([schema = '', table = '', sql = '']) => [getTableKey(schema, table), sql]),
  );
  return { name, real, filesFolder, standIns, inTransaction: false };
}

/** From now on names mean nothing but what the scratch database has. */
export async function leaveReal(connection: DuckDBConnection, { name }: Scratch): Promise<void> {
  await connection.run(`set search_path = ${quoteText(`${quoteName(name)}.main`)}`);
}

/** The first statement of a transaction of a test. It changes nothing. */
export async function writeMark(connection: DuckDBConnection, { name }: Scratch): Promise<void> {
  await connection.run(`delete from ${quoteName(name)}.${ownSchema}.mark`);
}

async function createSchemas(connection: DuckDBConnection, scratch: string, real: string): Promise<void> {
  const schemas = await readTexts(
    connection,
    `select schema_name from system.main.duckdb_schemas() where database_name = ${quoteText(real)} and not internal`,
  );
  for (const [schema = ''] of schemas)
    await connection.run(`create schema if not exists ${scratch}.${quoteName(schema)}`);
}

async function createStandIns(connection: DuckDBConnection, scratch: string, real: string): Promise<void> {
  const tables = await readTexts(
    connection,
    `select schema_name, table_name from system.main.duckdb_tables() where database_name = ${quoteText(real)} and not internal`,
  );
  if (tables.length > tableLimit)
    throw new Error(
      `the environment has ${tables.length} tables, but tests run where there are at most ${tableLimit}: run them in an environment of their own`,
    );
  for (const [schema = '', table = ''] of tables) {
    const path = `${quoteName(schema)}.${quoteName(table)}`;
    await connection.run(`create view ${scratch}.${path} as from ${quoteName(real)}.${path}`);
  }
}

/**
 * A value that a test takes from a sequence is not taken from the real one. The next value is in the definition:
 * `last_value` means the next one after the database was opened again.
 */
async function createSequences(connection: DuckDBConnection, real: string): Promise<void> {
  const sequences = await readTexts(
    connection,
    `select schema_name, sequence_name, increment_by, min_value, max_value, cycle,
      regexp_extract(sql, ' START (-?\\d+) (?:NO )?CYCLE;?$', 1)
    from system.main.duckdb_sequences() where database_name = ${quoteText(real)}`,
  );
  for (const [schema = '', name = '', by, least = '', most = '', cycle, next = ''] of sequences) {
    const sequence = `${quoteName(schema)}.${quoteName(name)}`;
    const isAbove = BigInt(next) > BigInt(most);
    const isUsedUp = isAbove || BigInt(next) < BigInt(least);
    const start = isUsedUp ? (isAbove ? most : least) : next;
    await connection.run(
      `create sequence ${sequence} increment by ${by} minvalue ${least} maxvalue ${most} start ${start} ${cycle === 'true' ? 'cycle' : 'no cycle'}`,
    );
    if (isUsedUp) await connection.run(`select nextval(${quoteText(sequence)})`);
  }
}

/**
 * The views of the environment, made again in scratch, so that they read what the test wrote. One that cannot
 * be made again reads the real tables.
 */
async function createViews(connection: DuckDBConnection, scratch: string, real: string): Promise<void> {
  const views = await readTexts(
    connection,
    `select schema_name, view_name, sql from system.main.duckdb_views() where database_name = ${quoteText(real)}
      and not internal order by view_oid`,
  );
  for (const [schema = '', view = '', sql = ''] of views) {
    const path = `${quoteName(schema)}.${quoteName(view)}`;
    await connection
      .run(sql)
      .catch(() => connection.run(`create view ${scratch}.${path} as from ${quoteName(real)}.${path}`))
      // The view is broken in the environment, too.
      .catch(() => undefined);
  }
}

/** Rows of texts. */
export async function readTexts(connection: DuckDBConnection, sql: string): Promise<string[][]> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRows().map((row) => row.map(String));
}
