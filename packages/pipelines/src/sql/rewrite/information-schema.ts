/**
 * Snowflake's information schema over the warehouse's own: databases and schemas under the names that people
 * gave them, and Snowflake's words for types. Names are compared without case, because a name that was created
 * without quotes is upper case in Snowflake and as it was written here.
 */
import type { TableReference } from '../dialect/dialect.ts';
import { keyColumns, removeMarks, tableConstraints } from '../dialect/keys.ts';
import { defaultDatabase, encodeDatabase } from '../tokens/names.ts';
import { quoteText } from '../tokens/tokens.ts';

/** Stands for a query that gives `(schema, table, rows)` of all tables, which the warehouse puts in its place. */
export const rowCountsRelation = '"headgate row counts"';

const own = "table_catalog IN (current_database(), 'temp')";

/** The columns that name the database and the schema, and what else each view shows in another way. */
const views: Readonly<
  Record<
    string,
    {
      catalog: string;
      schema: string;
      others: readonly string[];
      added?: readonly string[];
      from?: string;
    }
  >
> = {
  tables: {
    catalog: 'table_catalog',
    schema: 'table_schema',
    others: [ignoreCase('table_name')],
    added: [...unknown('BIGINT', 'bytes'), ...unknown('TIMESTAMPTZ', 'created', 'last_altered')],
    from: `(SELECT t.*, counted.row_count FROM information_schema.tables t LEFT JOIN ${rowCountsRelation} counted(in_schema, of_table, row_count) ON in_schema = table_schema AND of_table = table_name AND table_catalog = current_database())`,
  },
  columns: {
    catalog: 'table_catalog',
    schema: 'table_schema',
    others: [
      ignoreCase('table_name'),
      ignoreCase('column_name'),
      ...describeType(),
      `${removeMarks('column_comment')} AS column_comment`,
    ],
  },
  schemata: {
    catalog: 'catalog_name',
    schema: 'schema_name',
    others: [],
    added: unknown('TIMESTAMPTZ', 'created', 'last_altered'),
  },
  table_constraints: {
    catalog: 'table_catalog',
    schema: 'table_schema',
    others: [ignoreCase('table_name')],
    from: tableConstraints,
  },
  key_column_usage: {
    catalog: 'table_catalog',
    schema: 'table_schema',
    others: [ignoreCase('table_name'), ignoreCase('column_name')],
    from: keyColumns,
  },
};

export function isInformationSchema(names: readonly string[]): boolean {
  return (
    names.at(-2)?.toLowerCase() === 'information_schema' &&
    Object.hasOwn(views, names.at(-1)?.toLowerCase() ?? '')
  );
}

/** A query in the place of a view. Without a database it shows all databases. */
export function renderInformationSchema({ database, table }: TableReference): string | undefined {
  const view = views[table.toLowerCase()];
  if (view === undefined) return undefined;
  const { catalog, schema, others, added = [], from = `information_schema.${table.toLowerCase()}` } = view;
  const isElsewhere = `contains(${schema}, '.')`;
  const replaced = [
    `CASE WHEN ${isElsewhere} THEN upper(${decode(`split_part(${schema}, '.', 1)`)}) ELSE ${quoteText(defaultDatabase)} END COLLATE NOCASE AS ${catalog}`,
    `CASE WHEN ${isElsewhere} THEN upper(${decode(`split_part(${schema}, '.', 2)`)}) ELSE ${decode(schema)} END COLLATE NOCASE AS ${schema}`,
    ...others,
  ];
  const conditions = [own.replace('table_catalog', catalog)];
  if (database?.toLowerCase() === defaultDatabase) conditions.push(`NOT ${isElsewhere}`);
  else if (database !== undefined)
    conditions.push(`starts_with(${schema}, ${quoteText(`${encodeDatabase(database)}.`)})`);
  const more = added.map((column) => `, ${column}`);
  return `(SELECT * REPLACE (${replaced.join(', ')})${more.join('')} FROM ${from} WHERE ${conditions.join(' AND ')})`;
}

/** The warehouse does not know them. */
function unknown(type: string, ...columns: readonly string[]): string[] {
  return columns.map((column) => `NULL::${type} AS ${column}`);
}

function ignoreCase(column: string): string {
  return `${column} COLLATE NOCASE AS ${column}`;
}

/** The reverse of what names.ts does to a part of a name. */
function decode(part: string): string {
  return `replace(replace(regexp_replace(${part}, '%$', ''), '%2E', '.'), '%25', '%')`;
}

function describeType(): string[] {
  const isWhole = "data_type IN ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT')";
  const isDecimal = "data_type LIKE 'DECIMAL%'";
  const words = {
    VARCHAR: 'TEXT',
    DOUBLE: 'FLOAT',
    TIMESTAMP: 'TIMESTAMP_NTZ',
    'TIMESTAMP WITH TIME ZONE': 'TIMESTAMP_TZ',
    JSON: 'VARIANT',
    BLOB: 'BINARY',
  };
  const cases = Object.entries(words).map(([from, to]) => `WHEN data_type = '${from}' THEN '${to}'`);
  return [
    `CASE WHEN ${isWhole} OR ${isDecimal} THEN 'NUMBER' ${cases.join(' ')} WHEN data_type LIKE '%]' THEN 'ARRAY' ELSE data_type END AS data_type`,
    `CASE WHEN ${isWhole} THEN 38 WHEN ${isDecimal} THEN numeric_precision END AS numeric_precision`,
    `CASE WHEN ${isWhole} THEN 0 WHEN ${isDecimal} THEN numeric_scale END AS numeric_scale`,
    "CASE WHEN data_type = 'VARCHAR' THEN 16777216 END AS character_maximum_length",
    "CASE WHEN data_type LIKE 'TIME%' THEN 9 END AS datetime_precision",
  ];
}
