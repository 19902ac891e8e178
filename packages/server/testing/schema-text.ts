/** Test fixture: the tables of a database as SQL, in a fixed order, from PostgreSQL's catalog. */
import pg from 'pg';
import type { TestDatabase } from './database.ts';

type Query = TestDatabase['query'];

const selectTables = `
  select c.oid::integer, c.relname::text as name, c.reloptions as options from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' order by c.relname collate "C"`;

const selectColumns = `
  select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as "isRequired",
    a.attidentity::text as identity, a.attgenerated::text as generated, pg_get_expr(d.adbin, d.adrelid) as value
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`;

const selectConstraints = `
  select k.conname::text as name, pg_get_constraintdef(k.oid) as text from pg_constraint k
  where k.conrelid = $1 and k.contype in ('p', 'u', 'f', 'c', 'x') order by k.contype = 'p' desc, k.conname collate "C"`;

const selectIndexes = `
  select pg_get_indexdef(i.indexrelid) as text from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = $1 and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
  order by c.relname collate "C"`;

const selectEnums = `
  select t.typname::text as name, array_agg(e.enumlabel::text order by e.enumsortorder) as labels
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = current_schema()::regnamespace group by t.typname order by t.typname collate "C"`;

interface Column {
  name: string;
  type: string;
  isRequired: boolean;
  identity: string;
  generated: string;
  value: string | null;
}

export async function renderSchema(query: Query): Promise<string> {
  const enums = await query<{ name: string; labels: string[] }>(selectEnums);
  const types = enums.map(
    ({ name, labels }) =>
      `create type ${name} as enum (${labels.map((label) => pg.escapeLiteral(label)).join(', ')});\n`,
  );
  const tables = await query<{ oid: number; name: string; options: string[] | null }>(selectTables);
  const texts: string[] = [];
  for (const { oid, name, options } of tables) {
    const columns = await query<Column & pg.QueryResultRow>(selectColumns, [oid]);
    const constraints = await query<{ name: string; text: string }>(selectConstraints, [oid]);
    const indexes = await query<{ text: string }>(selectIndexes, [oid]);
    const parts = [
      ...columns.map(renderColumn),
      ...constraints.map((each) => `constraint ${each.name} ${each.text}`),
    ];
    const settings = options === null ? '' : ` with (${options.join(', ')})`;
    const made = `create table ${name} (\n  ${parts.join(',\n  ')}\n)${settings};\n`;
    texts.push(made + indexes.map(({ text }) => `${text};\n`).join(''));
  }
  return [...types, ...texts].join('\n');
}

function renderColumn({ name, type, isRequired, identity, generated, value }: Column): string {
  const required = isRequired ? ' not null' : '';
  if (identity !== '')
    return `${name} ${type}${required} generated ${identity === 'a' ? 'always' : 'by default'} as identity`;
  if (generated !== '') return `${name} ${type}${required} generated always as (${value}) stored`;
  return `${name} ${type}${required}${value === null ? '' : ` default ${value}`}`;
}
