import type { TableCatalog } from './table-catalog.ts';

/** Backslashes escape in literals there. */
const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/**
 * SVV_TABLES and SVV_COLUMNS also show external tables and the columns of late-binding views, to those who may use
 * them. The number of rows is in SVV_TABLE_INFO, which only superusers see.
 */
const visible = `
  select table_schema, table_name, case when table_type = 'VIEW' then 'VIEW' else 'TABLE' end as kind, remarks
  from svv_tables
  where table_catalog = current_database() and table_schema not in ('information_schema', 'pg_catalog', 'pg_internal')
    and table_schema not like 'pg!_temp!_%' escape '!' and table_schema not like 'pg!_toast%' escape '!'`;

const type = `case when c.data_type in ('numeric', 'decimal') and c.numeric_precision is not null
      then 'numeric(' || c.numeric_precision::varchar || ',' || c.numeric_scale::varchar || ')'
    when c.character_maximum_length is not null then c.data_type || '(' || c.character_maximum_length::varchar || ')'
    else c.data_type end`;

// not SQL: the name of a type
const short =
  /^(?:boolean|smallint|integer|bigint|real|double precision|numeric|decimal|date|time|timestamp|interval)\b/;

export const createRedshiftCatalog = (defaultSchema: string): TableCatalog => ({
  list: ({ contains, offset, limit }) => `
  with matching as (
    select * from (${visible}) visible
    where ${contains === undefined ? 'true' : `strpos(lower(table_name), lower(${quote(contains)})) > 0`}),
  page as (select * from matching order by table_schema, table_name limit ${limit} offset ${offset})
  select t.total, p.table_schema, p.table_name, p.kind, null, null, left(p.remarks, 1000)
  from (select count(*) as total from matching) t left join page p on true
  order by p.table_schema, p.table_name`,
  // Names are in lower case there, unless enable_case_sensitive_identifier is set.
  describe: ({ schema = defaultSchema, name }) => `
  select t.table_schema, t.table_name, t.kind, null, null, left(t.remarks, 1000),
    c.column_name, ${type}, c.is_nullable = 'YES', left(c.remarks, 1000)
  from (${visible}) t
  left join svv_columns c on c.table_catalog = current_database() and c.table_schema = t.table_schema
    and c.table_name = t.table_name
  where lower(t.table_schema) = lower(${quote(schema)}) and lower(t.table_name) = lower(${quote(name)})
  order by c.ordinal_position`,
  isLong: (columnType) => !short.test(columnType),
});
