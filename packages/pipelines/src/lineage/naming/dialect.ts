/** How lineage reads the SQL of a kind of warehouse: its names, and where its tables are. */
import { type LexicalRules, lexicalRules, TokenReader, UnterminatedError } from '../../sql/tokens/tokens.ts';
import { datasetNames, isSystemTable } from './dataset-name.ts';

export interface LineageDialect {
  readonly name: 'duckdb' | 'postgres' | 'snowflake';
  readonly rules: LexicalRules;
  /** A name that stands without quotes, in the case that the warehouse gives it. */
  foldName(name: string): string;
  /**
   * The tables that a name may stand for, the nearest first.
   *
   * @param path the names in SQL, folded
   */
  listPlaces(path: readonly string[]): readonly (readonly string[])[];
  nameTable(path: readonly string[]): string;
  /** Tables that describe the warehouse itself. */
  isSystem(path: readonly string[]): boolean;
  isTemporary(path: readonly string[]): boolean;
  /** The first words of statements that do what cannot be read in them. */
  readonly opaque: ReadonlySet<string>;
  /** Whether a statement may change where the session looks for tables without a schema. */
  setsPath(sql: string): boolean;
  /** The name of a column of VALUES, from 0. */
  nameValue(index: number): string;
}

export const duckdbLineage: LineageDialect = {
  name: 'duckdb',
  rules: lexicalRules.duckdb,
  foldName: (name) => name,
  listPlaces: (path) => [path],
  nameTable: datasetNames.warehouse,
  isSystem: isSystemTable,
  isTemporary: (path) => path.length > 1 && path[0]?.toLowerCase() === 'temp',
  opaque: new Set(),
  setsPath: () => false,
  nameValue: (index) => `col${index}`,
};

/** The database and the schema of a connection to PostgreSQL. */
export interface PostgresPlace {
  readonly database: string;
  readonly schema: string;
}

export function createPostgresLineage({ database, schema }: PostgresPlace): LineageDialect {
  return {
    name: 'postgres',
    rules: lexicalRules.postgres,
    foldName: (name) => name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()),
    // The search path of a session.
    listPlaces: (path) =>
      path.length > 1 ? [path] : [...new Set([schema, 'public'])].map((each) => [each, ...path]),
    nameTable: (path) => datasetNames.served([database, ...path.slice(-2)]),
    isSystem: (path) =>
      path.length > 1 && /^(?:pg_catalog|information_schema|pg_toast)$/.test(path.at(-2) ?? ''),
    isTemporary: (path) => path.length > 1 && path.at(-2)?.startsWith('pg_temp') === true,
    opaque: new Set(['DO', 'CALL']),
    setsPath: (sql) => /search_path|set_config|^\s*(?:SET|DISCARD|RESET)\s+(?:SCHEMA|ALL)\b/i.test(sql),
    nameValue: (index) => `column${index + 1}`,
  };
}

/** Redshift's SQL is near enough to PostgreSQL's to be read as such. Names are in lower case, also in quotes. */
export function createRedshiftLineage(place: PostgresPlace): LineageDialect {
  const { nameTable, listPlaces, ...others } = createPostgresLineage(place);
  const fold = (path: readonly string[]) => path.map((name) => name.toLowerCase());
  return {
    ...others,
    rules: lexicalRules.redshift,
    nameTable: (path) => nameTable(fold(path)),
    listPlaces: (path) => listPlaces(fold(path)),
  };
}

/** Names without quotes are in upper case. A database of another name is a database, too. */
export function createSnowflakeLineage({ database, schema }: PostgresPlace): LineageDialect {
  return {
    name: 'snowflake',
    rules: lexicalRules.snowflake,
    foldName: (name) => name.toUpperCase(),
    listPlaces: (path) => [path.length > 1 ? path : [schema, ...path]],
    nameTable: (path) =>
      datasetNames.served(path.length > 2 ? path.slice(-3) : [database, ...path.slice(-2)]),
    isSystem: (path) =>
      path.length > 1 &&
      (path.at(-2) === 'INFORMATION_SCHEMA' || (path.length > 2 && path.at(-3) === 'SNOWFLAKE')),
    isTemporary: () => false,
    opaque: new Set(['CALL', 'EXECUTE', 'COPY', 'PUT', 'GET']),
    setsPath: changesPlace,
    nameValue: (index) => `COLUMN${index + 1}`,
  };
}

/** USE and ALTER SESSION. */
function changesPlace(sql: string): boolean {
  const reader = new TokenReader(sql, lexicalRules.snowflake);
  try {
    const first = reader.next()?.value;
    return first === 'USE' || (first === 'ALTER' && reader.next()?.value === 'SESSION');
  } catch (error) {
    if (error instanceof UnterminatedError) return false;
    throw error;
  }
}
