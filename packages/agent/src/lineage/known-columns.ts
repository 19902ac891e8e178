/**
 * The columns of the tables of an environment. All changes of the embedded warehouse go through this agent, so that
 * what was read there holds until a statement that may change them. Of others it is read for each step.
 */
import type { FieldType } from '@headgate/pipelines/lineage';
import { readFirstWord } from '../warehouses/statements/sql-words.ts';
import type { KnownTables, LineageWarehouse } from './lineage-messages.ts';

/** Runs a query of at most so many rows, whose result is JSON. */
export type QueryText = (sql: string, maxRows: number) => Promise<string>;

export interface KnownColumns {
  /** Before and after a statement of a run. */
  noteStatement(sql: string): void;
  /** @param paths of the tables in SQL, by their names in lineage */
  read(paths: Readonly<Record<string, readonly string[]>>, query: QueryText): Promise<KnownTables>;
}

/** Statements that begin so leave the columns of all tables as they are. */
const leavesColumns = new Set(
  'select with from values insert update delete merge copy truncate explain begin start set'.split(' '),
);
const tablesLimit = 5_000;
const rowLimit = 20_000;

export function createKnownColumns(kind: LineageWarehouse['kind']): KnownColumns {
  const { select, placeOf } = catalogs[kind];
  const known = new Map<string, readonly FieldType[] | null>();
  /** Counts the changes. */
  let state = 0;
  return {
    noteStatement(sql) {
      if (leavesColumns.has(readFirstWord(sql))) return;
      state += 1;
      known.clear();
    },
    async read(paths, query) {
      const missing = Object.entries(paths).filter(([name]) => !known.has(name));
      const found = new Map(known);
      if (missing.length > 0) {
        const before = state;
        const { rows } = JSON.parse(
          await query(select(missing.map(([, path]) => placeOf(path))), rowLimit),
        ) as { rows: string[][] };
        const read = collect(missing, rows, placeOf);
        for (const [name, fields] of read) found.set(name, fields);
        if (known.size > tablesLimit) known.clear();
        if (state === before && kind === 'duckdb') for (const [name, fields] of read) known.set(name, fields);
      }
      return Object.fromEntries(Object.keys(paths).map((name) => [name, found.get(name) ?? null]));
    },
  };
}

type Missing = readonly (readonly [name: string, path: readonly string[]])[];

/** The schema and the name of a table, as the catalog has them; in Snowflake after the database. */
type Place = readonly string[];

interface Catalog {
  placeOf(path: readonly string[]): Place;
  /** The place, a column and its type; the columns of a table in order. */
  select(places: readonly Place[]): string;
}

const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
/** Where a backslash escapes. */
const quoteEscaped = (text: string) => quote(text.replaceAll('\\', '\\\\'));
/** It means the same whatever `standard_conforming_strings` is. */
const quotePostgres = (text: string) => `E${quoteEscaped(text)}`;
const list = (places: readonly Place[], write: (text: string) => string) =>
  places.map((place) => `(${place.map(write).join(', ')})`).join(', ');

const catalogs: Readonly<Record<LineageWarehouse['kind'], Catalog>> = {
  duckdb: {
    placeOf(path) {
      const [table = '', schema = 'main'] = path.toReversed();
      return [schema.toLowerCase(), table.toLowerCase()];
    },
    select: (
      places,
    ) => `SELECT lower(schema_name), lower(table_name), column_name, data_type FROM duckdb_columns()
WHERE database_name = current_database() AND (lower(schema_name), lower(table_name)) IN (${list(places, quote)})
ORDER BY schema_name, table_name, column_index`,
  },
  postgres: {
    placeOf(path) {
      const [table = '', schema = 'public'] = path.toReversed();
      return [schema, table];
    },
    select: (
      places,
    ) => `SELECT n.nspname::text, c.relname::text, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (n.nspname, c.relname) IN (${list(places, quotePostgres)})
ORDER BY 1, 2, a.attnum`,
  },
  redshift: {
    placeOf(path) {
      const [table = '', schema = 'public'] = path.toReversed();
      return [schema.toLowerCase(), table.toLowerCase()];
    },
    select: (
      places,
    ) => `SELECT lower(table_schema), lower(table_name), column_name, data_type FROM svv_columns
WHERE table_catalog = current_database() AND (${places
      .map(
        ([schema = '', table = '']) =>
          `(lower(table_schema) = ${quoteEscaped(schema)} AND lower(table_name) = ${quoteEscaped(table)})`,
      )
      .join(' OR ')})
ORDER BY 1, 2, ordinal_position`,
  },
  snowflake: {
    placeOf(path) {
      const [table = '', schema = 'PUBLIC', database = ''] = path.toReversed();
      return [database, schema, table];
    },
    // Each database has a catalog of its own; without a name, it is that of the session.
    select: (places) =>
      `${[...Map.groupBy(places, ([database]) => database)]
        .map(
          ([
            database = '',
            within,
          ]) => `SELECT ${quoteEscaped(database)}, table_schema, table_name, column_name, data_type, ordinal_position
FROM ${database === '' ? '' : `"${database.replaceAll('"', '""')}".`}INFORMATION_SCHEMA.COLUMNS
WHERE (table_schema, table_name) IN (${list(
            within.map((place) => place.slice(1)),
            quoteEscaped,
          )})`,
        )
        .join('\nUNION ALL\n')}
ORDER BY 1, 2, 3, 6`,
  },
};

function collect(
  missing: Missing,
  rows: readonly string[][],
  placeOf: Catalog['placeOf'],
): [string, FieldType[] | null][] {
  const fields = new Map<string, FieldType[]>();
  const depth = placeOf([]).length;
  for (const row of rows) {
    const [name = '', type = ''] = row.slice(depth);
    const key = JSON.stringify(row.slice(0, depth));
    const list = fields.get(key) ?? [];
    list.push({ name, type });
    fields.set(key, list);
  }
  return missing.map(([name, path]) => [name, fields.get(JSON.stringify(placeOf(path))) ?? null]);
}
