/**
 * Where the tables of `database.schema.table` are in the warehouse: each schema of another database is a
 * schema `database.schema`. The mapping is injective: in a part of a name, `%` is written `%25` and `.` is
 * written `%2E`. A name becomes only a name, never a path.
 * DuckDB would take a schema with the name of the environment's catalog for the catalog, so a `%` stands behind it.
 *
 * - The default database has the schema `main`. Its schema `public` is another name for `main`.
 * - Names ignore case, so schemas of other databases are written in lower case.
 */

/** The name of the environment's database, as in `sysvar.environment.defaults.database`. */
export const defaultDatabase = 'warehouse';
export const defaultSchema = 'main';

const environmentDefault = '[Environment Default]';

/** What a project says of its SQL. */
export interface SqlRules {
  /** Decides where the vendors differ. Without it, Snowflake. */
  readonly vendor?: 'snowflake' | 'redshift';
  /** Whether statements that change who may read have no effect. Without it they are refused. */
  readonly ignoresAccess?: boolean;
  /** The name of the environment's catalog in the warehouse. */
  readonly catalog?: string;
}

export const vendorOf = ({ vendor }: SqlRules) => vendor ?? 'snowflake';

/** What a name without database or schema means. */
export interface NameMapping extends SqlRules {
  /** Undefined: the default database. */
  readonly database?: string | undefined;
  /** Undefined: the default schema. */
  readonly schema?: string | undefined;
}

/** Whether a part of a name stands for the default of the environment. */
export function isDefaultName(part: string | undefined): part is undefined {
  return part === undefined || part.trim() === '' || part.trim() === environmentDefault;
}

const escapePart = (part: string) => part.replaceAll('%', '%25').replaceAll('.', '%2E');

/** Text of the warehouse with names of schemas as people write them. */
export const decodeNames = (text: string) => text.replaceAll(/%2E/g, '.').replaceAll(/%25/g, '%');

/** The name of a database before the dot in the name of a schema. */
export const encodeDatabase = (database: string) => escapePart(database.trim().toLowerCase());

/** DuckDB's own databases. `temp.main` has the temporary tables. */
const systemDatabases = ['temp', 'system'];
const systemSchemas = ['information_schema', 'pg_catalog'];

export interface PlacedSchema {
  /** The names before the table's name, without quotes. */
  readonly path: readonly string[];
  /** Whether the warehouse makes it when it is first written. */
  readonly isMade: boolean;
}

/** The schema of the warehouse that holds a schema of a database. */
export function placeSchema(
  database: string | undefined,
  schema: string | undefined,
  { catalog }: SqlRules = {},
): PlacedSchema {
  const expected = isDefaultName(schema) ? defaultSchema : schema.trim();
  const lower = expected.toLowerCase();
  const inDatabase = isDefaultName(database) ? defaultDatabase : database.trim().toLowerCase();
  if (systemDatabases.includes(inDatabase) && [defaultSchema, ...systemSchemas].includes(lower))
    return { path: [inDatabase, expected], isMade: false };
  // The information schema describes all databases.
  if (systemSchemas.includes(lower)) return { path: [lower], isMade: false };
  if (inDatabase !== defaultDatabase)
    return { path: [`${escapePart(inDatabase)}.${escapePart(lower)}`], isMade: true };
  if (lower === defaultSchema || lower === 'public') return { path: [defaultSchema], isMade: false };
  const mark = lower === catalog?.toLowerCase() ? '%' : '';
  return { path: [`${escapePart(expected)}${mark}`], isMade: true };
}
