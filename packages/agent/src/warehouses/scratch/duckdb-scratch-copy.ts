/** Copies a table of the environment into the scratch database of a test, before the test writes to it. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { quoteName, quoteText } from '../statements/duckdb-names.ts';
import { getTableKey, readTexts, type Scratch } from './duckdb-scratch.ts';
import type { WrittenName } from './duckdb-scratch-names.ts';

/** Rows of one table that a test may change. */
const copiedRowLimit = 1_000_000;

/**
 * Does nothing unless the name means a stand-in of a table. Tables that are tied to it by foreign keys are
 * copied with it, so that a key holds or breaks as it would in the environment.
 *
 * @throws Error above the limit of rows
 */
export async function copyTable(
  connection: DuckDBConnection,
  scratch: Scratch,
  { schema = 'main', table, needsRows }: WrittenName,
): Promise<void> {
  if (!(await isStandIn(connection, scratch, schema, table))) return;
  const found = await readDefinition(connection, scratch.real, schema, table);
  // A view of the environment stays a view.
  if (found === undefined) return;
  const isTied = found.referenced.length > 0 || found.referring.length > 0;
  const copyTied = async (tables: readonly string[]) => {
    for (const tied of tables) await copyTable(connection, scratch, { schema, table: tied, needsRows: true });
  };
  await copyTied(found.referenced);
  // It may have been copied as one that refers to another.
  if (!(await isStandIn(connection, scratch, schema, table))) return;
  await copyOne(connection, scratch, `${quoteName(schema)}.${quoteName(table)}`, {
    ...found,
    needsRows: needsRows || isTied,
  });
  await copyTied(found.referring);
}

async function copyOne(
  connection: DuckDBConnection,
  scratch: Scratch,
  path: string,
  copied: {
    definition: string;
    comments: readonly (readonly string[])[];
    indexes: readonly string[];
    needsRows: boolean;
  },
): Promise<void> {
  if (copied.needsRows) await checkRowLimit(connection, scratch, path);
  const target = `${quoteName(scratch.name)}.${path}`;
  await connection.run(`drop view ${target}`);
  try {
    // DuckDB's own definition, without the catalog: it is made in the default one, which is scratch.
    await connection.run(copied.definition);
    for (const [column = '', comment = ''] of copied.comments)
      await connection.run(`comment on column ${target}.${quoteName(column)} is ${quoteText(comment)}`);
    if (copied.needsRows)
      await connection.run(`insert into ${target} from ${quoteName(scratch.real)}.${path}`);
    for (const index of copied.indexes) await connection.run(index);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the table ${path} cannot be copied for the test that writes to it: ${reason}`);
  }
}

async function isStandIn(
  connection: DuckDBConnection,
  { name, standIns }: Scratch,
  schema: string,
  table: string,
): Promise<boolean> {
  const made = standIns.get(getTableKey(schema, table));
  if (made === undefined) return false;
  const [row] = await readTexts(
    connection,
    `select sql from system.main.duckdb_views() where database_name = ${quoteText(name)} and ${isSame(schema, table, 'view_name')}`,
  );
  return row?.[0] === made;
}

async function checkRowLimit(connection: DuckDBConnection, { real }: Scratch, path: string): Promise<void> {
  const [row] = await readTexts(connection, `select count(*) from ${quoteName(real)}.${path}`);
  const count = Number(row?.[0]);
  if (count <= copiedRowLimit) return;
  throw new Error(
    `the test writes to the table ${path}, which has ${count} rows; a table that a test writes to has at most ${copiedRowLimit}: create a small one in the test first`,
  );
}

const isSame = (schema: string, table: string, column: string) =>
  `lower(schema_name) = lower(${quoteText(schema)}) and lower(${column}) = lower(${quoteText(table)})`;

async function readDefinition(connection: DuckDBConnection, real: string, schema: string, table: string) {
  const ofTable = `database_name = ${quoteText(real)} and ${isSame(schema, table, 'table_name')}`;
  const [row] = await readTexts(connection, `select sql from system.main.duckdb_tables() where ${ofTable}`);
  if (row?.[0] === undefined) return undefined;
  // The keys of a table are in the comments of its columns.
  const comments = await readTexts(
    connection,
    `select column_name, comment from system.main.duckdb_columns() where ${ofTable} and comment is not null`,
  );
  const indexes = await readTexts(
    connection,
    `select sql from system.main.duckdb_indexes() where ${ofTable} and sql is not null`,
  );
  const ofKeys = `system.main.duckdb_constraints() where database_name = ${quoteText(real)} and constraint_type = 'FOREIGN KEY'`;
  const referenced = await readTexts(
    connection,
    `select distinct referenced_table from ${ofKeys} and ${isSame(schema, table, 'table_name')}`,
  );
  const referring = await readTexts(
    connection,
    `select distinct table_name from ${ofKeys} and ${isSame(schema, table, 'referenced_table')}`,
  );
  const listOthers = (rows: readonly string[][]) =>
    rows.map(([name = '']) => name).filter((name) => name.toLowerCase() !== table.toLowerCase());
  return {
    definition: row[0],
    comments,
    indexes: indexes.map(([sql = '']) => sql),
    referenced: listOthers(referenced),
    referring: listOthers(referring),
  };
}
