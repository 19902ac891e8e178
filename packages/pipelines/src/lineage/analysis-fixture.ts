/** Shows the lineage of statements as lines of text, for tests. */
import { datasetNames } from './naming/dataset-name.ts';
import {
  createPostgresLineage,
  createRedshiftLineage,
  createSnowflakeLineage,
  duckdbLineage,
  type LineageDialect,
} from './naming/dialect.ts';
import { loadSqlParser } from './parser.ts';
import type { FieldType, Sources } from './query/relation.ts';
import { analyzeStep } from './step.ts';
import { createRunTables } from './tables.ts';

const parsers = {
  duckdb: await loadSqlParser('duckdb'),
  postgres: await loadSqlParser('postgres'),
  snowflake: await loadSqlParser('snowflake'),
};
const prefix = /^(?:warehouse\.main|db\.wh|DB\.WH)\./;

/** The columns of the tables that the tests know: of `main` in the default database, or of `db.wh`. */
export type Catalog = Readonly<Record<string, string>>;

/**
 * One line for each column that is written, such as `out.total: t.amount AGGREGATED`, and one for what decides the
 * rows of a table, such as `out decided by t.day`. Then the gaps.
 */
export function trace(
  sql: string | readonly string[],
  catalog: Catalog = {},
  dialect: LineageDialect = duckdbLineage,
): string[] {
  const statements = typeof sql === 'string' ? [sql] : sql;
  const { outputs, inputs, gaps } = analyzeStep(statements, {
    dialect,
    parse: parsers[dialect.name],
    run: createRunTables(),
    findFields: (name) => readFields(catalog[shorten(name)]),
    nameFile: (path) => ({ kind: 'file', name: datasetNames.file(path) }),
  });
  const lines: string[] = [];
  for (const { table, columns, rows, isDropped } of outputs) {
    const name = shorten(table.name);
    if (isDropped) lines.push(`${name} dropped`);
    else if (columns === undefined)
      lines.push(`${name} from ${inputs.map((each) => shorten(each.name)).join(', ')}`);
    for (const column of columns ?? [])
      lines.push(`${name}.${column.name}: ${show(column.sources, true)}`.trim());
    if (rows.size > 0) lines.push(`${name} decided by ${show(rows, false)}`);
  }
  return [...lines, ...gaps.map((gap) => `gap: ${gap}`)];
}

/** The same of PostgreSQL, whose connection has the schema `wh` of the database `db`. */
export const tracePostgres = (sql: string | readonly string[], catalog: Catalog = {}): string[] =>
  trace(sql, catalog, createPostgresLineage({ database: 'db', schema: 'wh' }));

/** The same of Redshift. */
export const traceRedshift = (sql: string | readonly string[], catalog: Catalog = {}): string[] =>
  trace(sql, catalog, createRedshiftLineage({ database: 'db', schema: 'wh' }));

/** The same of Snowflake, whose connection has the schema `WH` of the database `DB`. */
export const traceSnowflake = (sql: string | readonly string[], catalog: Catalog = {}): string[] =>
  trace(sql, catalog, createSnowflakeLineage({ database: 'DB', schema: 'WH' }));

const readFields = (columns: string | undefined): readonly FieldType[] | null =>
  columns === undefined ? null : columns.split(/ (?![^(]*\))/).map((name) => ({ name }));

const shorten = (name: string) => name.replace(prefix, '');

function show(sources: Sources, isDirect: boolean): string {
  return [...sources.values()]
    .map(
      ({ table, field, how }) =>
        `${shorten(table.name)}.${field}${isDirect && how !== 'IDENTITY' ? ` ${how}` : ''}`,
    )
    .sort()
    .join(', ');
}
