import { quoteName, quoteText } from '../statements/duckdb-names.ts';
import type { TableCatalog } from './table-catalog.ts';

/** DuckDB knows rows by an estimate, in which deleted ones count, and no bytes. */
const visible = `
  select schema_name, table_name, 'TABLE' as kind, estimated_size as row_count, comment from duckdb_tables()
  where database_name = current_database() and not internal and not temporary
  union all
  select schema_name, view_name, 'VIEW', null, comment from duckdb_views()
  where database_name = current_database() and not internal and not temporary`;

// not SQL: the name of a type
const short =
  /^(?:BOOLEAN|U?(?:TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL|DATE|TIME|TIMESTAMP|TIMESTAMP_[A-Z]{1,2}|INTERVAL|UUID)\b/;

export const duckdbCatalog: TableCatalog = {
  list: ({ contains, offset, limit }) => `
  with visible as (${visible}), matching as (
    select * from visible where ${contains === undefined ? 'true' : `contains(lower(table_name), lower(${quoteText(contains)}))`})
  select t.total, left(p.schema_name, 1000), left(p.table_name, 1000), p.kind, p.row_count, null, left(p.comment, 1000)
  from (select count(*) as total from matching) t
  left join (select * from matching order by schema_name, table_name limit ${limit} offset ${offset}) p on true
  order by p.schema_name, p.table_name`,
  describe: ({ schema = 'main', name }) => `
  with visible as (${visible})
  select t.schema_name, t.table_name, t.kind, t.row_count, null, left(t.comment, 1000),
    c.column_name, left(c.data_type, 10000), c.is_nullable, left(c.comment, 1000)
  from visible t
  join duckdb_columns() c on c.database_name = current_database() and c.schema_name = t.schema_name and c.table_name = t.table_name
  where lower(t.schema_name) = lower(${quoteText(schema)}) and lower(t.table_name) = lower(${quoteText(name)})
  order by c.column_index`,
  count: ({ schema, name }) => `select count(*) from ${quoteName(schema)}.${quoteName(name)}`,
  isLong: (type) => !short.test(type) || type.endsWith(']'),
};
