import { quoteText } from '../statements/duckdb-names.ts';
import type { TableCatalog } from './table-catalog.ts';

/** A backslash is an escape in texts of Snowflake. */
const quote = (text: string) => quoteText(text.replaceAll('\\', '\\\\'));

/** What the role may read, in the database of the connection. Snowflake knows the rows and bytes of its tables. */
const readable = `
  select table_schema, table_name, case when table_type like '%VIEW%' then 'VIEW' else 'TABLE' end as kind,
    row_count, bytes, left(t.comment, 1000) as about
  from information_schema.tables t where table_schema <> 'INFORMATION_SCHEMA'`;

// not SQL: the name of a type
const short = /^(?:BOOLEAN|NUMBER|FLOAT|DATE|TIME|TIMESTAMP_[A-Z]{2,3})\b/;

const type = `case when c.data_type = 'NUMBER' then 'NUMBER(' || c.numeric_precision || ',' || c.numeric_scale || ')'
      when c.data_type = 'TEXT' then 'VARCHAR(' || c.character_maximum_length || ')' else c.data_type end`;

export const createSnowflakeCatalog = (defaultSchema: string): TableCatalog => ({
  list: ({ contains, offset, limit }) => `
  with readable as (${readable}), matching as (
    select * from readable where ${contains === undefined ? 'true' : `contains(lower(table_name), lower(${quote(contains)}))`}),
  page as (select * from matching order by table_schema, table_name limit ${limit} offset ${offset})
  select t.total, p.table_schema, p.table_name, p.kind, p.row_count, p.bytes, p.about
  from (select count(*) as total from matching) t left join page p on true
  order by p.table_schema, p.table_name`,
  describe: ({ schema = defaultSchema, name }) => `
  with readable as (${readable})
  select t.table_schema, t.table_name, t.kind, t.row_count, t.bytes, t.about,
    c.column_name, ${type}, c.is_nullable = 'YES', left(c.comment, 1000)
  from readable t
  join information_schema.columns c on c.table_schema = t.table_schema and c.table_name = t.table_name
  where t.table_schema = ${quote(schema)} and t.table_name = ${quote(name)}
  order by c.ordinal_position`,
  isLong: (each) => !short.test(each),
});
