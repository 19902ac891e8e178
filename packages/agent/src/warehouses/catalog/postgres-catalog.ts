import { quoteText } from '../statements/duckdb-names.ts';
import type { TableCatalog } from './table-catalog.ts';

/**
 * What the role may read. Statistics take no lock: to measure a table would wait for a run that has it. An estimate is
 * -1 before the first one.
 */
const readable = `
  select c.oid, n.nspname, c.relname, case when c.relkind in ('v', 'm') then 'VIEW' else 'TABLE' end as kind,
    case when c.relkind in ('r', 'p', 'm') and c.reltuples >= 0 then c.reltuples::bigint end as row_count,
    case when c.relkind in ('r', 'm') and c.reltuples >= 0
      then c.relpages::bigint * current_setting('block_size')::bigint end as bytes
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'f', 'v', 'm') and n.nspname <> 'information_schema' and n.nspname not like 'pg\\_%'
    and has_schema_privilege(n.oid, 'USAGE')
    and (has_table_privilege(c.oid, 'SELECT') or has_any_column_privilege(c.oid, 'SELECT'))`;

// not SQL: the name of a type
const short =
  /^(?:boolean|smallint|integer|bigint|real|double precision|numeric|money|date|time|timestamp|interval|uuid|oid)\b/;

export const createPostgresCatalog = (defaultSchema: string): TableCatalog => ({
  list: ({ contains, offset, limit }) => `
  with matching as (
    select * from (${readable}) readable
    where ${contains === undefined ? 'true' : `position(lower(${quoteText(contains)}) in lower(relname)) > 0`})
  select t.total, p.nspname, p.relname, p.kind, p.row_count, p.bytes, left(obj_description(p.oid, 'pg_class'), 1000)
  from (select count(*) as total from matching) t
  left join (select * from matching order by nspname, relname limit ${limit} offset ${offset}) p on true
  order by p.nspname, p.relname`,
  describe: ({ schema = defaultSchema, name }) => `
  with found as (
    select * from (${readable}) readable where nspname = ${quoteText(schema)} and relname = ${quoteText(name)})
  select t.nspname, t.relname, t.kind, t.row_count,
    case when t.kind = 'TABLE' and t.bytes is not null then pg_total_relation_size(t.oid) else t.bytes end,
    left(obj_description(t.oid, 'pg_class'), 1000),
    a.attname, format_type(a.atttypid, a.atttypmod), not a.attnotnull, left(col_description(t.oid, a.attnum), 1000)
  from found t
  left join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    and has_column_privilege(t.oid, a.attnum, 'SELECT')
  order by a.attnum`,
  isLong: (type) => !short.test(type) || type.endsWith(']'),
});
