/**
 * Schemas and databases: CREATE, CLONE and DROP. A database is the schemas whose names begin with it (names.ts), so a
 * statement about one, or about all tables of a schema, is made by a query over the catalog.
 */

import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { defaultDatabase, encodeDatabase, type PlacedSchema, placeSchema } from '../tokens/names.ts';
import { quoteNames, quoteText } from '../tokens/tokens.ts';
import { findChainEnd, hasWords, isWord, type Node, readChain } from '../tokens/tree.ts';
import { ignore, type StatementSql } from './statement-sql.ts';
import { quoteSql, refuseEarlierState, tableBodies } from './table-copies.ts';

interface NamedObject {
  readonly names: readonly string[];
  /** The index of the node after the name. */
  readonly end: number;
  readonly written: string;
}

function readName(nodes: readonly Node[], at: number, frame: Frame): NamedObject {
  const end = findChainEnd(nodes, at);
  if (end === at) refuse(frame, nodes[at] ?? nodes.at(-1), 'a name is missing');
  const part = nodes.slice(at, end);
  return { names: readChain(part), end, written: copyNodes(frame, part) };
}

function readSchemaPlace(names: readonly string[], frame: Frame): PlacedSchema {
  const [schema, database] = names.toReversed();
  return placeSchema(database ?? frame.script.names.database, schema, frame.script.names);
}

/** The object after CLONE, and the rest of the options. */
function readClone(nodes: readonly Node[], at: number, frame: Frame): NamedObject | undefined {
  if (!isWord(nodes[at], 'CLONE')) return undefined;
  const source = readName(nodes, at + 1, frame);
  refuseEarlierState(nodes, source.end, frame);
  return source;
}

/** @param at the index of SCHEMA */
export function renderCreateSchema(nodes: readonly Node[], at: number, frame: Frame): StatementSql {
  const ifNotExists = hasWords(nodes, at + 1, 'IF', 'NOT', 'EXISTS');
  const { names, end, written } = readName(nodes, at + 1 + (ifNotExists ? 3 : 0), frame);
  const replaces = hasWords(nodes, 1, 'OR', 'REPLACE');
  const { path, isMade } = readSchemaPlace(names, frame);
  const source = readClone(nodes, end, frame);
  const kind = 'CREATE SCHEMA';
  if (!isMade && path.length === 1) {
    if (!replaces && (source === undefined || ifNotExists))
      return ignore(frame, kind, `the schema ${names.join('.')} is always there`);
    refuse(
      frame,
      nodes[at],
      `the schema ${names.join('.')} is always there: it cannot be replaced or made anew`,
    );
  }
  if (replaces) frame.before.push(dropSchema(path));
  if (source !== undefined) {
    const from = readSchemaPlace(source.names, frame);
    if (quoteNames(from.path).toLowerCase() === quoteNames(path).toLowerCase())
      refuse(frame, nodes[end], 'a schema cannot be cloned into itself');
    return {
      sql: `CREATE SCHEMA ${quoteNames(path)}`,
      kind,
      listed: listCopies(inSchema(from.path), quoteText(quoteNames(path)), describeMissing(source)),
      ...(ifNotExists ? { onlyIf: renderNoSchema(path) } : {}),
    };
  }
  if (nodes.length > end)
    frame.notes.add(`the options of CREATE SCHEMA ${names.join('.')} have no effect here`);
  const isSame = names.length === 1 && path.length === 1 && path[0] === names[0];
  // A schema of another database may have been made when it was first written.
  const exists = ifNotExists || names.length > 1 ? 'IF NOT EXISTS ' : '';
  return { sql: `CREATE SCHEMA ${exists}${isSame ? written : quoteNames(path)}`, kind };
}

/** @param at the index of DATABASE */
export function renderCreateDatabase(nodes: readonly Node[], at: number, frame: Frame): StatementSql {
  const ifNotExists = hasWords(nodes, at + 1, 'IF', 'NOT', 'EXISTS');
  const { names, end } = readName(nodes, at + 1 + (ifNotExists ? 3 : 0), frame);
  const [database = ''] = names;
  const replaces = hasWords(nodes, 1, 'OR', 'REPLACE');
  const source = readClone(nodes, end, frame);
  const kind = 'CREATE DATABASE';
  const ofDatabase = inDatabase(database);
  if (ofDatabase === undefined) {
    if (!replaces && (source === undefined || ifNotExists))
      return ignore(frame, kind, `the database ${database} is always there`);
    refuse(frame, nodes[at], `the database ${database} is always there: it cannot be replaced or made anew`);
  }
  const drops = replaces ? `${listDrops(ofDatabase)} UNION ALL ` : '';
  if (source === undefined) {
    const made = 'the schemas of a database are made when they are first written';
    if (!replaces) return ignore(frame, kind, `CREATE DATABASE has no effect here: ${made}`);
    return { sql: nothing, kind, listed: orderSteps(listDrops(ofDatabase)) };
  }
  const [from = ''] = source.names;
  if (from.toLowerCase() === database.toLowerCase())
    refuse(frame, nodes[end], 'a database cannot be cloned into itself');
  const prefix = encodeDatabase(database);
  // The schema `main` of the default database is its schema `public`.
  const own =
    inDatabase(from) === undefined
      ? `CASE WHEN schema_name = 'main' THEN 'public' ELSE lower(schema_name) END`
      : `substr(schema_name, ${encodeDatabase(from).length + 2})`;
  const target = quoteSql(`${quoteText(`${prefix}.`)} || ${own}`);
  const isSource =
    inDatabase(from) ??
    `NOT contains(schema_name, '.') AND schema_name NOT IN ('information_schema', 'pg_catalog')`;
  const exists = `SELECT 0 AS step, error(${quoteText(`the database ${database} exists: write CREATE OR REPLACE DATABASE, or drop it first`)}) AS statement WHERE EXISTS (SELECT 1 FROM duckdb_schemas() WHERE database_name = current_database() AND ${ofDatabase}) UNION ALL `;
  const makes = `SELECT 2 AS step, 'CREATE SCHEMA ' || ${target} AS statement FROM duckdb_schemas() WHERE database_name = current_database() AND ${isSource} UNION ALL `;
  return {
    sql: nothing,
    kind,
    listed: orderSteps(
      `${replaces || ifNotExists ? drops : exists}${makes}${listCopySteps(isSource, target, describeMissing(source))}`,
    ),
    ...(ifNotExists
      ? {
          onlyIf: `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM duckdb_schemas() WHERE database_name = current_database() AND ${ofDatabase})`,
        }
      : {}),
  };
}

export function renderDropSchema(nodes: readonly Node[], frame: Frame): StatementSql {
  const exists = hasWords(nodes, 2, 'IF', 'EXISTS');
  const { names, end, written } = readName(nodes, exists ? 4 : 2, frame);
  const { path } = readSchemaPlace(names, frame);
  const isSame = names.length === 1 && path.length === 1 && path[0] === names[0];
  const tail = nodes.slice(end);
  // Snowflake drops the tables too; Redshift wants the word.
  const cascades = tail.length === 0 && frame.script.names.vendor !== 'redshift';
  const options = cascades ? ' CASCADE' : tail.length === 0 ? '' : ` ${copyNodes(frame, tail)}`;
  return {
    sql: `DROP SCHEMA ${exists ? 'IF EXISTS ' : ''}${isSame ? written : quoteNames(path)}${options}`,
    kind: 'DROP SCHEMA',
  };
}

/** All schemas of the database go. */
export function renderDropDatabase(nodes: readonly Node[], frame: Frame): StatementSql {
  const exists = hasWords(nodes, 2, 'IF', 'EXISTS');
  const { names } = readName(nodes, exists ? 4 : 2, frame);
  const [database = ''] = names;
  const ofDatabase = inDatabase(database);
  if (ofDatabase === undefined)
    refuse(
      frame,
      nodes[1],
      `the database ${database} is the one of the environment: drop its schemas or tables`,
    );
  return { sql: nothing, kind: 'DROP DATABASE', listed: orderSteps(listDrops(ofDatabase)) };
}

/** RENAME and SWAP: the warehouse cannot do them. Other options tune. */
export function renderAlterSchema(nodes: readonly Node[], frame: Frame): StatementSql {
  const object = isWord(nodes[1], 'SCHEMA') ? 'SCHEMA' : 'DATABASE';
  const changes = nodes.find((node) => isWord(node, 'RENAME', 'SWAP'));
  if (isWord(changes, 'RENAME', 'SWAP')) {
    const words = changes.value === 'RENAME' ? 'RENAME TO' : 'SWAP WITH';
    refuse(
      frame,
      changes,
      `ALTER ${object} … ${words} is not supported here: use CREATE ${object} … CLONE and DROP ${object}`,
    );
  }
  return ignore(frame, `ALTER ${object}`, `ALTER ${object} has no effect here`);
}

/** The statements that count are listed. */
export const nothing = 'SELECT 1 WHERE false';

const dropSchema = (path: readonly string[]) => `DROP SCHEMA IF EXISTS ${quoteNames(path)} CASCADE`;

const renderNoSchema = (path: readonly string[]) =>
  `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM duckdb_schemas() WHERE database_name = current_database() AND ${inSchema(path)})`;

/** A condition for `schema_name`. */
const inSchema = (path: readonly string[]) =>
  `lower(schema_name) = ${quoteText((path.at(-1) ?? '').toLowerCase())}`;

/** A condition for `schema_name`; undefined: the default database. */
function inDatabase(database: string): string | undefined {
  const encoded = encodeDatabase(database);
  return encoded === defaultDatabase ? undefined : `starts_with(schema_name, ${quoteText(`${encoded}.`)})`;
}

const describeMissing = ({ written }: NamedObject) => `there is no ${written} to clone`;

const orderSteps = (steps: string) => `SELECT statement FROM (${steps}) ORDER BY step`;

const listDrops = (condition: string) =>
  `SELECT 1 AS step, 'DROP SCHEMA ' || ${quoteSql('schema_name')} || ' CASCADE' AS statement FROM duckdb_schemas() WHERE database_name = current_database() AND ${condition}`;

const listCopies = (condition: string, target: string, missing: string) =>
  orderSteps(listCopySteps(condition, target, missing));

/**
 * The statements that copy the tables of schemas, with their rows, lengths, defaults, NOT NULL, keys and sequences. A
 * view is refused: its query names the tables of the schema that it was written in.
 *
 * @param condition for `schema_name` of the source
 * @param target SQL that gives the quoted name of the new schema
 */
function listCopySteps(condition: string, target: string, missing: string): string {
  const here = `database_name = current_database() AND ${condition}`;
  const table = quoteSql('table_name');
  const column = quoteSql('column_name');
  const source = quoteSql('schema_name');
  const alter = `'ALTER TABLE ' || ${target} || '.' || ${table} || ' ALTER COLUMN ' || ${column}`;
  const ofTables = `FROM duckdb_columns() c WHERE ${here} AND NOT internal AND EXISTS (SELECT 1 FROM duckdb_tables() t WHERE t.table_oid = c.table_oid)`;
  return [
    `SELECT 0 AS step, error(${quoteText(missing)}) AS statement WHERE NOT EXISTS (SELECT 1 FROM duckdb_schemas() WHERE ${here})`,
    `SELECT 0, error('the view ' || view_name || ' cannot be cloned here: drop it, and create it in the new schema') FROM duckdb_views() WHERE ${here} AND NOT internal`,
    `SELECT 3, 'CREATE SEQUENCE ' || ${target} || '.' || ${quoteSql('sequence_name')} || ' START WITH ' || coalesce(last_value + increment_by, start_value) || ' INCREMENT BY ' || increment_by || ' MINVALUE ' || min_value || ' MAXVALUE ' || max_value || CASE WHEN cycle THEN ' CYCLE' ELSE '' END FROM duckdb_sequences() WHERE ${here}`,
    `SELECT 4, 'CREATE TABLE ' || ${target} || '.' || ${table} || body FROM duckdb_tables() JOIN ${tableBodies} USING (database_name, table_oid) WHERE ${here}`,
    `SELECT 5, 'INSERT INTO ' || ${target} || '.' || ${table} || ' SELECT * FROM ' || ${source} || '.' || ${table} FROM duckdb_tables() WHERE ${here}`,
    `SELECT 6, ${alter} || ' SET DEFAULT ' || replace(column_default, ${source} || '.', ${target} || '.') ${ofTables} AND column_default IS NOT NULL`,
    `SELECT 7, ${alter} || ' SET NOT NULL' ${ofTables} AND NOT is_nullable`,
    `SELECT 8, 'COMMENT ON COLUMN ' || ${target} || '.' || ${table} || '.' || ${column} || ' IS ''' || replace(comment, '''', '''''') || '''' ${ofTables} AND comment IS NOT NULL`,
  ].join(' UNION ALL ');
}
