/** Stores columns of a query's first row in scalar variables. */
import { renderConditions } from '../comparator.ts';
import { ParameterError, type Parameters, readCellText } from '../parameters.ts';
import type { Dialect } from '../sql/dialect.ts';
import { splitStatements } from '../sql/statements.ts';
import { type OrchestrationDefinition, readTableReference, renderOrderTerm } from './component.ts';
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

export const queryToScalar: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Stores columns of a query’s first row in scalar variables.',
  group: 'variables',
  parameters: {
    mode: choiceParameter('Basic: a table. Advanced: a query.', ['Basic', 'Advanced'], { required: true }),
    query: sqlParameter('The query of the mode Advanced.'),
    table: textParameter('The table of the mode Basic.'),
    ...placeParameters,
    tableColumns: namesParameter('Its columns. None: all.'),
    filterConditions: rowsParameter('Which rows.', conditionCells),
    combineCondition: choiceParameter('Whether all or any of the conditions must hold.', ['And', 'Or'], {
      standard: 'And',
    }),
    orderBy: rowsParameter('The order of the rows.', ['column', 'Ascending or Descending?']),
    sort: choiceParameter('The direction of columns without one.', ['Ascending', 'Descending'], {
      standard: 'Ascending',
    }),
    limit: numberParameter('At most how many rows are read.'),
    scalarVariableMapping: rowsParameter('Which column goes to which variable.', ['variable', 'column'], {
      required: true,
      variable: { as: 'scalar', cell: 0 },
    }),
  },
  example: `type: query-to-scalar
parameters:
  mode: Advanced
  query: SELECT count(*) AS n FROM orders
  scalarVariableMapping:
    - [customers, n]`,
  plan({ parameters, dialect }) {
    const advanced = parameters.choice('mode', { Basic: false, Advanced: true });
    const query = advanced
      ? readSingleQuery(parameters.text('query'))
      : renderBasicQuery(parameters, dialect);
    const mapping = parameters
      .rows('scalarVariableMapping', 2)
      .map((row) => [readCellText(row, 0), readCellText(row, 1)] as const);
    // Only the first row is used.
    return { action: 'query-scalars', query: `SELECT * FROM (\n${query}\n) AS "query" LIMIT 1`, mapping };
  },
};

/** A single query without its `;`. @throws ParameterError if there are several statements */
export function readSingleQuery(sql: string): string {
  const [query, ...more] = splitStatements(sql);
  if (query === undefined) throw new ParameterError('"query" is empty: fill it in');
  if (more.length > 0) throw new ParameterError(`"query" has ${more.length + 1} statements: keep one`);
  return query;
}

function renderBasicQuery(parameters: Parameters, dialect: Dialect): string {
  const columns = parameters.names('tableColumns').map(dialect.name);
  const combine = parameters.choice('combineCondition', { And: 'AND', Or: 'OR' } as const, 'AND');
  const direction = parameters.optionalText('sort') ?? 'Ascending';
  const order = parameters
    .rows('orderBy', 1)
    .map((row) => renderOrderTerm([row[0] ?? '', row[1] ?? direction], dialect));
  const limit = parameters.optionalInteger('limit');
  return [
    `SELECT ${columns.length === 0 ? '*' : columns.join(', ')}`,
    `FROM ${dialect.table(readTableReference(parameters, 'table'))}`,
    `WHERE ${renderConditions(parameters.rows('filterConditions', 3), combine, dialect)}`,
    ...(order.length === 0 ? [] : [`ORDER BY ${order.join(', ')}`]),
    ...(limit === undefined ? [] : [`LIMIT ${Math.max(limit, 0)}`]),
  ].join('\n');
}
