/**
 * The columns of the tables of an environment. All changes go through this agent, so that what was read holds until
 * a statement that may change them.
 */
import type { FieldType } from '@headgate/pipelines/lineage';
import { readFirstWord } from '../warehouses/statements/sql-words.ts';
import type { KnownTables } from './lineage-messages.ts';

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

export function createKnownColumns(): KnownColumns {
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
        const { rows } = JSON.parse(await query(selectColumns(missing), rowLimit)) as { rows: string[][] };
        const read = collect(missing, rows);
        for (const [name, fields] of read) found.set(name, fields);
        if (known.size > tablesLimit) known.clear();
        if (state === before) for (const [name, fields] of read) known.set(name, fields);
      }
      return Object.fromEntries(Object.keys(paths).map((name) => [name, found.get(name) ?? null]));
    },
  };
}

type Missing = readonly (readonly [name: string, path: readonly string[]])[];

const placeOf = (path: readonly string[]) => {
  const [table = '', schema = 'main'] = path.toReversed();
  return [schema.toLowerCase(), table.toLowerCase()] as const;
};
const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;

function selectColumns(missing: Missing): string {
  const places = missing.map(([, path]) => `(${placeOf(path).map(quote).join(', ')})`);
  return `SELECT lower(schema_name), lower(table_name), column_name, data_type FROM duckdb_columns()
WHERE database_name = current_database() AND (lower(schema_name), lower(table_name)) IN (${places.join(', ')})
ORDER BY schema_name, table_name, column_index`;
}

function collect(missing: Missing, rows: readonly string[][]): [string, FieldType[] | null][] {
  const fields = new Map<string, FieldType[]>();
  for (const [schema = '', table = '', name = '', type = ''] of rows) {
    const key = JSON.stringify([schema, table]);
    const list = fields.get(key) ?? [];
    list.push({ name, type });
    fields.set(key, list);
  }
  return missing.map(([name, path]) => [name, fields.get(JSON.stringify(placeOf(path))) ?? null]);
}
