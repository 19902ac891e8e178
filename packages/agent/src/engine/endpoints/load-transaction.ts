/** The transaction of a load: it makes or changes the tables, fills them and moves the high-water mark. */
import {
  addColumn,
  alterType,
  ConnectorError,
  type Conversion,
  convertColumn,
  createLoadTable,
  type Dialect,
  describeChildTable,
  describeMainTable,
  describeMisfit,
  type EndpointLoad,
  type ExistingColumn,
  fillTable,
  findChangedRow,
  findMisfits,
  type GatheredRows,
  keepRows,
  type LoadTable,
  listConversions,
  listLoadTargets,
  type MatchedColumn,
  matchColumns,
  readMark,
  type TableReference,
  type ValueFit,
  writeMark,
} from '@headgate/pipelines';
import type { Transaction } from '../session/session.ts';

/** Columns of a table that exists. */
const columnLimit = 10_000;

/** `before`: the mark of the last load when this one began. */
export interface MovedMark {
  key: string;
  before: string | undefined;
  value: string | undefined;
}

/** Returns the columns of a table; undefined if it does not exist. */
export async function readColumns(
  { query }: Pick<Transaction, 'query'>,
  target: TableReference,
  dialect: Dialect,
): Promise<ExistingColumn[] | undefined> {
  const { rows } = await query(dialect.tableColumns(target), columnLimit);
  return rows.length === 0
    ? undefined
    : rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
}

interface Filling {
  load: EndpointLoad;
  hasRows: boolean;
  dialect: Dialect;
  transaction: Transaction;
}

/**
 * Returns how many rows were loaded.
 *
 * @throws ConnectorError if the rows do not fit the tables, or another run has moved the mark
 */
export async function fillTables(
  load: EndpointLoad,
  rows: GatheredRows,
  mark: MovedMark | undefined,
  dialect: Dialect,
  transaction: Transaction,
): Promise<number> {
  const { execute } = transaction;
  for (const target of listLoadTargets(load, rows))
    for (const statement of dialect.lockTable(target)) await execute(statement);
  if (mark !== undefined) await requireUnmoved(mark, load, dialect, transaction);
  const filling: Filling = { load, hasRows: rows.file !== undefined, dialect, transaction };
  const main = describeMainTable(load, rows, dialect);
  const keep = (fits: ReadonlyMap<string, ValueFit>) => keepRows(main, fits, load, dialect);
  const { fits, rowCount } = await fillOne(
    main,
    keepRows({ ...main, keys: [] }, new Map(), load, dialect),
    keep,
    filling,
  );
  for (const child of rows.children) {
    const table = describeChildTable(load, rows, child, keep(fits), dialect);
    await fillOne(table, table.source, () => table.source, filling);
  }
  if (mark?.value !== undefined)
    for (const statement of writeMark(dialect, mark.key, mark.value)) await execute(statement);
  return rowCount;
}

/** @throws ConnectorError if another run has loaded rows since this one began: they may be newer */
async function requireUnmoved(
  { key, before }: MovedMark,
  { target }: EndpointLoad,
  dialect: Dialect,
  { query }: Transaction,
): Promise<void> {
  const { rows } = await query(readMark(dialect, key), 2);
  const [now] = rows[0] ?? [];
  if (rows.length < 2 && (now ?? undefined) === before) return;
  throw new ConnectorError(
    `another run has loaded rows into "${target.table}" since this load began, so its high-water mark has changed: load again`,
  );
}

/** @param input the query for the rows as they came. @param keep the query for those to load */
async function fillOne(
  table: LoadTable,
  input: string,
  keep: (fits: ReadonlyMap<string, ValueFit>) => string,
  { load, hasRows, dialect, transaction }: Filling,
): Promise<{ fits: ReadonlyMap<string, ValueFit>; rowCount: number }> {
  const { execute } = transaction;
  const { mode } = load;
  const existing = mode === 'replace' ? undefined : await readColumns(transaction, table.target, dialect);
  if (existing !== undefined && mode === 'fail-if-exists') throw describeExisting(table.target);
  if (existing === undefined) await execute(createLoadTable(load, table, dialect));
  const matched = matchColumns(table, existing, dialect);
  if (existing !== undefined)
    for (const { column, known } of matched)
      if (known === undefined) await execute(addColumn(table, column, load, dialect));
  const fitting = hasRows ? await fitColumns(table, matched, input, { load, dialect, transaction }) : [];
  // Last: a transaction that has deleted rows cannot change the columns of their table.
  if (existing !== undefined && mode === 'truncate')
    await execute(`DELETE FROM ${dialect.table(table.target)}`);
  if (!hasRows) return { fits: new Map(), rowCount: 0 };
  const fits = new Map(fitting.map(({ column, fit }) => [column.name, fit]));
  const { statements, counted } = fillTable(load, table, fitting, keep(fits), dialect);
  let rowCount = 0;
  for (const [index, statement] of statements.entries()) {
    const changed = await execute(statement);
    if (index === counted) rowCount = changed.rowCount;
  }
  return { fits, rowCount };
}

export function describeExisting({ table }: TableReference): ConnectorError {
  return new ConnectorError(
    `the table "${table}" exists: drop it, or choose another mode of createTableMode`,
  );
}

/** @throws ConnectorError about the first value that a column cannot hold and must not become wide enough for */
async function fitColumns(
  table: LoadTable,
  matched: readonly MatchedColumn[],
  input: string,
  changing: Omit<Filling, 'hasRows'>,
): Promise<MatchedColumn[]> {
  const { load, dialect, transaction } = changing;
  const misfits = await listMisfits(matched, input, changing);
  const fitting: MatchedColumn[] = [];
  for (const each of matched) {
    const value = misfits.get(each.column.name);
    if (value === undefined) {
      fitting.push(each);
      continue;
    }
    const wider =
      load.schemaChange === 'widen' ? await findWiderType(table, each, input, changing) : undefined;
    if (wider === undefined) throw describeMisfit(table, each, value, load);
    await transaction.execute(alterType(dialect.table(table.target), each, wider, dialect));
    fitting.push(convertColumn(each, wider, dialect));
  }
  return fitting;
}

/** The first value of each column that does not fit. */
async function listMisfits(
  matched: readonly MatchedColumn[],
  input: string,
  { dialect, transaction }: Omit<Filling, 'hasRows'>,
): Promise<Map<string, string>> {
  const found = findMisfits(matched, input, dialect);
  if (found === undefined) return new Map();
  const { rows } = await transaction.query(found.query, 1);
  const values = rows[0] ?? [];
  return new Map(
    found.columns.flatMap(({ column }, index) => {
      const value = values[index] ?? null;
      return value === null ? [] : [[column.name, String(value)]];
    }),
  );
}

async function findWiderType(
  { target }: LoadTable,
  misfit: MatchedColumn,
  input: string,
  changing: Omit<Filling, 'hasRows'>,
): Promise<Conversion | undefined> {
  const { dialect, transaction } = changing;
  for (const wider of listConversions(misfit, dialect)) {
    const remaining = await listMisfits([convertColumn(misfit, wider, dialect)], input, changing);
    if (remaining.size > 0) continue;
    const changed = findChangedRow(dialect.table(target), misfit, wider, dialect);
    if (changed === undefined || (await transaction.query(changed, 1)).rows.length === 0) return wider;
  }
  return undefined;
}
