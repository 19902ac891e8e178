/** The query of a component with the modes Basic (a table) and Advanced (a query). */

import { ParameterError, type Parameters } from '../../expressions/parameters.ts';
import type { Dialect, TableReference } from '../../sql/dialect/dialect.ts';
import { renderConditions } from './condition-sql.ts';
import {
  choiceParameter,
  conditionCells,
  namesParameter,
  numberParameter,
  placeParameters,
  rowsParameter,
  sqlParameter,
  textParameter,
} from './declared-parameters.ts';
import { readTableReference, renderOrderTerm } from './plan-parts.ts';

export const orderParameters = {
  orderBy: rowsParameter('The order of the rows.', ['column', 'Ascending or Descending?']),
  sort: choiceParameter('The direction of columns without one.', ['Ascending', 'Descending'], {
    standard: 'Ascending',
  }),
};

/** The parameters that make a query. */
export const tableQueryParameters = {
  mode: choiceParameter('Basic: a table. Advanced: a query.', ['Basic', 'Advanced'], { required: true }),
  query: sqlParameter('The query of the mode Advanced.'),
  table: textParameter('The table of the mode Basic.', { otherNames: ['targetTable'] }),
  ...placeParameters,
  tableColumns: namesParameter('Its columns. None: all.'),
  filterConditions: rowsParameter('Which rows.', conditionCells),
  combineCondition: choiceParameter('Whether all or any of the conditions must hold.', ['And', 'Or'], {
    standard: 'And',
    otherNames: ['combineConditions'],
  }),
  ...orderParameters,
  limit: numberParameter('At most how many rows are read.'),
};

/** @throws ParameterError, SqlError */
export function readTableQuery(parameters: Parameters, dialect: Dialect): string {
  return readIsAdvanced(parameters)
    ? readSingleQuery(parameters.text('query'), dialect)
    : renderBasicQuery(parameters, dialect);
}

export function readIsAdvanced(parameters: Parameters): boolean {
  return parameters.choice('mode', { Basic: false, Advanced: true });
}

/** A single query of a user, without its `;`. @throws ParameterError if there are several statements */
export function readSingleQuery(written: string, dialect: Dialect): string {
  const [query, ...more] = dialect.user.script(written);
  if (query === undefined) throw new ParameterError('"query" is empty: fill it in');
  if (more.length > 0) throw new ParameterError(`"query" has ${more.length + 1} statements: keep one`);
  if (query.before.length + query.after.length > 0 || query.sql === '')
    throw new ParameterError(`"query" is a ${query.kind} statement: write a SELECT`);
  return query.sql;
}

function renderBasicQuery(parameters: Parameters, dialect: Dialect): string {
  const combine = parameters.choice('combineCondition', { And: 'AND', Or: 'OR' } as const, 'AND');
  const conditions = parameters.rows('filterConditions', 3);
  const limit = parameters.optionalInteger('limit');
  const query = renderTableQuery(
    readTableReference(parameters, 'table'),
    parameters.names('tableColumns'),
    conditions.length === 0 ? '' : `\nWHERE ${renderConditions(conditions, combine, dialect)}`,
    parameters,
    dialect,
  );
  return limit === undefined ? query : `${query}\nLIMIT ${Math.max(limit, 0)}`;
}

/** A SELECT of columns, all if none are given, in the order of `orderBy`. */
export function renderTableQuery(
  table: TableReference,
  columns: readonly string[],
  where: string,
  parameters: Parameters,
  dialect: Dialect,
): string {
  const list = columns.length === 0 ? '*' : [...new Set(columns)].map(dialect.name).join(', ');
  const direction = parameters.optionalText('sort') ?? 'Ascending';
  const order = parameters
    .rows('orderBy', 1)
    .map((row) => renderOrderTerm([row[0] ?? '', row[1] ?? direction, ...row.slice(2)], dialect));
  const ordered = order.length === 0 ? '' : `\nORDER BY ${order.join(', ')}`;
  return `SELECT ${list}\nFROM ${dialect.table(table)}${where}${ordered}`;
}
