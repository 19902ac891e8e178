/** The lineage of SQL. It loads the parser, so that it is not a part of the package's main entry. */

export { lineageSqlLimit } from './adapt-sql.ts';
export { datasetNames } from './naming/dataset-name.ts';
export {
  createPostgresLineage,
  createSnowflakeLineage,
  duckdbLineage,
  type LineageDialect,
  type PostgresPlace,
} from './naming/dialect.ts';
export { BrokenParser, loadSqlParser, type ParseSql } from './parser.ts';
export type { FieldType, Sources, Table } from './query/relation.ts';
export { analyzeStep, type StepAnalysis, type WrittenTable } from './step.ts';
export { createRunTables, type RunTables } from './tables.ts';
