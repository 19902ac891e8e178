/** Reads of the tables of a warehouse, each of some queries that only read. */
import type { TableReadResult, TableReadWork } from '@headgate/contract';
import { nearestName, renderTableName } from '@headgate/contract/without-schemas';
import type { TableCatalog, TableLookup } from './catalog/table-catalog.ts';
import { quoteName } from './statements/duckdb-names.ts';
import type { ReadBounds, ReadRows } from './warehouse.ts';

export type ReadSql = (sql: string, bounds: Pick<ReadBounds, 'maxRows' | 'maxBytes'>) => Promise<ReadRows>;

type Row = ReadRows['rows'][number];
type Requested<Type extends TableReadWork['read']['type']> = Extract<TableReadWork['read'], { type: Type }>;
type Details = Extract<TableReadResult, { table: unknown }>['table'];

/** What a catalog may say of one read: bounded by its limits for names and comments, and below a report's size. */
const catalogBounds = { maxRows: 10_000, maxBytes: 2_097_152 };
/** Tables among which a mistyped name is looked for. */
const comparedTables = 1_000;
const mostProposals = 3;
const longestValue = 1_000;
const longestName = 1_000;
const shortestValue = 20;
/** In the worst case, a character takes six bytes as JSON. */
const bytesOfCharacter = 8;

/** @throws Error with the message of the warehouse */
export async function readTables(
  { read, maxBytes }: Pick<TableReadWork, 'read' | 'maxBytes'>,
  catalog: TableCatalog,
  readSql: ReadSql,
): Promise<TableReadResult> {
  if (read.type === 'list') return listTables(read, catalog, readSql);
  const lookup = { schema: read.schema, name: read.name };
  const table = await describeTable(lookup, catalog, readSql);
  if (table === undefined) return { nearest: await findNearest(lookup, catalog, readSql) };
  if (read.type === 'preview')
    return { preview: await previewTable(table, { ...read, maxBytes }, catalog, readSql) };
  const [counted] =
    table.kind === 'TABLE' && catalog.count !== undefined
      ? (await readSql(catalog.count(table), catalogBounds)).rows
      : [];
  const columns = table.columns.map((column) => ({ ...column, name: column.name.slice(0, longestName) }));
  return { table: { ...table, columns, ...(counted === undefined ? {} : number('rows', counted[0])) } };
}

async function listTables(
  { contains, offset, limit }: Requested<'list'>,
  catalog: TableCatalog,
  readSql: ReadSql,
) {
  const { rows } = await readSql(catalog.list({ contains, offset, limit }), catalogBounds);
  const tables = rows.filter((row) => row[1] !== null).map(([, ...table]) => readTable(table));
  return { tables, total: Number(rows[0]?.[0] ?? 0) };
}

function readTable([schema, name, kind, rows, bytes, comment]: Row) {
  return {
    schema: String(schema),
    name: String(name),
    kind: kind === 'VIEW' ? ('VIEW' as const) : ('TABLE' as const),
    ...number('rows', rows),
    ...number('bytes', bytes),
    ...describe(comment),
  };
}

/** Absent if it is not known. */
function number<Name extends string>(name: Name, value: Row[number] | undefined): { [key in Name]?: number } {
  const found = value === null || value === undefined ? Number.NaN : Number(value);
  return (Number.isSafeInteger(found) && found >= 0 ? { [name]: found } : {}) as { [key in Name]?: number };
}

const describe = (comment: Row[number] | undefined) =>
  typeof comment === 'string' && comment !== '' ? { comment } : {};

async function describeTable(
  lookup: TableLookup,
  catalog: TableCatalog,
  readSql: ReadSql,
): Promise<Details | undefined> {
  const { rows, isCut } = await readSql(catalog.describe(lookup), catalogBounds);
  if (isCut)
    throw new Error(`the table "${lookup.name}" has more columns than can be shown: query the catalog`);
  const [first] = rows;
  if (first === undefined) return undefined;
  const columns = rows
    .map((row) => row.slice(6))
    .filter(([name]) => name !== null)
    .map(([name, type, nullable, comment]) => ({
      name: String(name),
      type: String(type),
      nullable: nullable === true,
      ...describe(comment),
    }));
  return { ...readTable(first), columns };
}

async function previewTable(
  table: Details,
  { maxRows, maxBytes }: Requested<'preview'> & { maxBytes: number },
  catalog: TableCatalog,
  readSql: ReadSql,
) {
  const { columns } = table;
  const fair = Math.floor(maxBytes / (bytesOfCharacter * Math.max(1, columns.length)));
  const length = Math.max(shortestValue, Math.min(longestValue, fair));
  // The warehouse cuts them, one character late, so that long values are not sent and a cut can be seen.
  const selected = columns.map(({ name, type }) => {
    const column = quoteName(name);
    return catalog.isLong(type) ? `left(cast(${column} as varchar), ${length + 1}) as ${column}` : column;
  });
  const from = `${quoteName(table.schema)}.${quoteName(table.name)}`;
  const sql = `select ${selected.join(', ')} from ${from} limit ${maxRows + 1}`;
  const found = await readSql(sql, { maxRows, maxBytes });
  const cut = new Set<string>();
  const rows = found.rows.map((row) =>
    row.map((value, index) => {
      if (typeof value !== 'string' || [...value].length <= length) return value;
      cut.add(columns[index]?.name ?? '');
      return [...value].slice(0, length).join('');
    }),
  );
  return { columns: columns.map(({ name }) => name), rows, isCut: found.isCut, cutColumns: [...cut] };
}

/** Tables of the same name elsewhere, or in other letters, and then those with a name that is like it. */
async function findNearest(
  { schema, name }: TableLookup,
  catalog: TableCatalog,
  readSql: ReadSql,
): Promise<string[]> {
  const filter = { contains: undefined, offset: 0, limit: comparedTables };
  const { rows } = await readSql(catalog.list(filter), catalogBounds);
  const tables = rows
    .filter((row) => row[1] !== null)
    .map((row) => ({ schema: String(row[1]), name: String(row[2]) }));
  const isSame = (table: { name: string }) => table.name.toLowerCase() === name.toLowerCase();
  const proposals = tables.filter(isSame).map(renderTableName);
  const others = new Map(tables.filter((table) => !isSame(table)).map((table) => [table.name, table]));
  const near = nearestName(name, others.keys());
  // Of several in different schemas, the one that was meant.
  const meant = tables.find((table) => table.name === near && table.schema === schema);
  const found = meant ?? (near === undefined ? undefined : others.get(near));
  return [...proposals, ...(found === undefined ? [] : [renderTableName(found)])].slice(0, mostProposals);
}
