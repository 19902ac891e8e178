/** Queries for the rows that wait in a file: those of the table, and those of its child tables. */
import type { Dialect, TableReference, ValueFit } from '../../sql/dialect/dialect.ts';
import { ConnectorError } from '../profile.ts';
import type { ConnectorColumn, ConnectorColumnType } from '../schema.ts';
import { type ChildList, type EndpointLoad, type GatheredRows, pageColumn } from './endpoint-load.ts';
import { nameElementText, nameText } from './exact-texts.ts';

/** A table that a load fills. */
export interface LoadTable {
  target: TableReference;
  columns: readonly ConnectorColumn[];
  /** A query for the values as they came, and their `rowNumber`. A row may come several times. */
  source: string;
  /** Rows with the same values in these columns are replaced. */
  keys: readonly string[];
  /** A query for the values of `keys` in all rows that are loaded; undefined: those of `source`. */
  replaced?: string;
}

/** The column that counts the rows of a load. */
export const rowNumber = 'headgate row number';

const typeWords: Readonly<Record<ConnectorColumnType, string>> = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  decimal: 'VARCHAR',
  boolean: 'BOOLEAN',
  json: 'JSON',
};

export const sqlType = (dialect: Dialect, type: ConnectorColumnType): string =>
  dialect.type({ type: typeWords[type] });

/** The warehouse does not tell names apart by case. */
export const isSameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

export function listLoadTargets({ target }: EndpointLoad, { children }: GatheredRows): TableReference[] {
  return [target, ...children.map((child) => nameChild(target, child))];
}

const nameChild = (target: TableReference, { member }: ChildList): TableReference => ({
  ...target,
  table: `${target.table}_${member}`,
});

/** @throws ConnectorError if the columns are not known, or not those of `primaryKeys` */
export function describeMainTable(load: EndpointLoad, rows: GatheredRows, dialect: Dialect): LoadTable {
  const { columns } = rows;
  if (columns.length > 0) for (const key of load.primaryKeys) requireKey(key, columns);
  const place = { target: load.target, columns, keys: load.primaryKeys };
  const number = dialect.name(rowNumber);
  if (load.wholePages) {
    const page = `CAST(r AS JSON) AS ${dialect.name(pageColumn.name)}`;
    return { ...place, source: `SELECT n AS ${number}, ${page} FROM ${readFile(rows, 'VARCHAR', dialect)}` };
  }
  const list = columns.map(
    (column) => `${readMember(column, rows, dialect)} AS ${dialect.name(column.name)}`,
  );
  const query = `SELECT ${[`n AS ${number}`, ...list].join(', ')} FROM ${readFile(rows, rowType(columns, dialect), dialect)}`;
  return { ...place, source: query };
}

function requireKey(key: string, columns: readonly ConnectorColumn[]): void {
  if (columns.some(({ name }) => name === key)) return;
  throw new ConnectorError(
    `the rows have no column "${key}", which is one of primaryKeys: correct primaryKeys`,
  );
}

/** A row may come twice, if it changes while the pages are read. The last one is kept if it meets the condition. */
export function keepRows(
  { keys, source }: Pick<LoadTable, 'keys' | 'source'>,
  fits: ReadonlyMap<string, ValueFit>,
  { condition }: EndpointLoad,
  dialect: Dialect,
): string {
  const values = keys.map((key) => fits.get(key)?.value ?? dialect.name(key)).join(', ');
  const last =
    keys.length === 0
      ? source
      : `SELECT * FROM (\n${source}\n) QUALIFY row_number() OVER (PARTITION BY ${values} ORDER BY ${dialect.name(rowNumber)} DESC) = 1`;
  return condition === undefined ? last : `SELECT * FROM (\n${last}\n) WHERE ${condition}`;
}

/**
 * The rows of a child table name the keys of their parent, and their place in its list.
 *
 * @param retained the query for the rows of the table that are loaded
 * @throws ConnectorError if two of its columns had the same name
 */
export function describeChildTable(
  load: EndpointLoad,
  rows: GatheredRows,
  child: ChildList,
  retained: string,
  dialect: Dialect,
): LoadTable {
  const keys = rows.columns.filter(({ name }) => load.primaryKeys.includes(name));
  const parents = keys.map((key) => ({ ...key, name: `parent_${key.name}` }));
  const own: ConnectorColumn[] = [...parents, { name: 'position', type: 'integer' }];
  const members = nameMembers(child, own);
  const number = dialect.name(rowNumber);
  const parentValues = (at: string) =>
    keys.map(
      (key, index) =>
        `${readMember(key, rows, dialect, at)} AS ${dialect.name(parents[index]?.name ?? key.name)}`,
    );
  const values = members.map(
    ({ member, column }) =>
      `${readElement(column, child.member, member, rows, dialect)} AS ${dialect.name(column.name)}`,
  );
  const list = `${dialect.name(child.member)} ${rowType(child.columns, dialect)}[]`;
  const isKept = `n IN (SELECT ${number} FROM (${retained}))`;
  const place = `s.r.${dialect.name(child.member)}`;
  const source = `(SELECT * FROM ${readFile(rows, rowType(keys, dialect, list), dialect)} WHERE ${isKept})`;
  const elements = `(SELECT unnest(${place}) AS item, generate_subscripts(${place}, 1) AS place)`;
  const selected = [
    `s.n AS ${number}`,
    ...parentValues('s.'),
    `e.place AS ${dialect.name('position')}`,
    ...values,
  ];
  return {
    target: nameChild(load.target, child),
    columns: [...own, ...members.map(({ column }) => column)],
    source: `SELECT ${selected.join(', ')} FROM ${source} AS s, ${elements} AS e`,
    keys: parents.map(({ name }) => name),
    replaced: `SELECT ${parentValues('').join(', ')} FROM ${readFile(rows, rowType(keys, dialect), dialect)} WHERE ${isKept}`,
  };
}

/** A member with the name of one of the table's own columns gets another one. */
function nameMembers({ member: list, columns }: ChildList, own: readonly ConnectorColumn[]) {
  const isOwn = (name: string) => own.some((each) => isSameName(each.name, name));
  return columns.map((column) => {
    if (!isOwn(column.name)) return { member: column.name, column };
    const name = `element_${column.name}`;
    if (isOwn(name) || columns.some((each) => isSameName(each.name, name)))
      throw new ConnectorError(
        `the elements of "${list}" have the members "${column.name}" and "${name}", which would be the same column: set nestedData to JSON`,
      );
    return { member: column.name, column: { ...column, name } };
  });
}

function readFile({ file }: GatheredRows, type: string, dialect: Dialect): string {
  return dialect.readRecords(file?.path ?? '', type, file?.lineBytes ?? 0);
}

function rowType(columns: readonly ConnectorColumn[], dialect: Dialect, ...more: string[]): string {
  const members = columns.map(({ name, type }) => `${dialect.name(name)} ${sqlType(dialect, type)}`);
  return `STRUCT(${[...members, ...more].join(', ')})`;
}

function readMember({ name, type }: ConnectorColumn, rows: GatheredRows, dialect: Dialect, at = ''): string {
  const value = `${at}r.${dialect.name(name)}`;
  return readExactly(value, type, rows, `${at}x`, dialect.literal(nameText(name)));
}

function readElement(
  { type }: ConnectorColumn,
  list: string,
  member: string,
  rows: GatheredRows,
  dialect: Dialect,
): string {
  const [before, after] = nameElementText(list, member).map((part) => dialect.literal(part));
  return readExactly(`e.item.${dialect.name(member)}`, type, rows, 's.x', `${before} || e.place || ${after}`);
}

/** JSON that was written as a text is JSON again. */
function readExactly(
  value: string,
  type: ConnectorColumnType,
  { file }: GatheredRows,
  texts: string,
  name: string,
): string {
  if (type !== 'json' || file?.hasTexts !== true) return value;
  return `CASE WHEN list_contains(${texts}, ${name}) THEN CAST(${value} ->> '$' AS JSON) ELSE ${value} END`;
}
