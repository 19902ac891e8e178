/** Actions that change variables. */
import {
  type Action,
  type Evaluation,
  indexOfColumn,
  interpolate,
  type Plain,
  type QueryResult,
  readGrid,
  readWithDefaults,
  resolveParameters,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import type { RunContext } from '../context/run-context.ts';

/** Sets a variable to a text in which expressions are replaced. */
export function assign(
  context: RunContext,
  variable: string,
  expression: string,
  evaluation: Evaluation,
): Promise<void> {
  return context.runExclusively(async () => {
    evaluation.scope.setScalar(variable, await interpolate(expression, evaluation));
  });
}

/** Sets a grid variable to rows in which expressions are replaced. */
export function assignGrid(
  context: RunContext,
  variable: string,
  rows: Plain,
  evaluation: Evaluation,
): Promise<void> {
  return context.runExclusively(async () => {
    const { value } = await resolveParameters({ value: rows }, evaluation);
    evaluation.scope.setGrid(variable, value);
  });
}

export async function queryScalars(
  { query, mapping }: Extract<Action, { action: 'query-scalars' }>,
  { run, evaluation }: ActionContext,
): Promise<ActionResult> {
  const { columns, rows } = await run.context.warehouse.query(query, 1);
  const [row] = rows;
  if (row === undefined) {
    return {
      status: 'FAILED',
      message: 'the query returned no row: use an aggregate, or coalesce, so that it always returns one',
    };
  }
  for (const [variable, column] of mapping) {
    const index = indexOfColumn(columns, column);
    if (index < 0) {
      return {
        status: 'FAILED',
        message: `the query returned no column "${column}": use one of ${columns.join(', ')}`,
      };
    }
    evaluation.scope.setScalar(variable, row[index]);
  }
  return { status: 'SUCCESS', rowCount: 1 };
}

export async function queryGrid(
  { query, grid, select }: Extract<Action, { action: 'query-grid' }>,
  { run, evaluation }: ActionContext,
): Promise<ActionResult> {
  const limit = run.context.request.bounds.variableRows;
  const result = await queryUpTo(run.context, query, limit);
  if (result === undefined) return { status: 'FAILED', message: describeTooManyRows('a grid', limit) };
  const rows = select(result, readGrid(evaluation.scope, grid));
  evaluation.scope.setGrid(grid, rows);
  return { status: 'SUCCESS', rowCount: rows.length };
}

export function changeGrid(
  { grid, change }: Extract<Action, { action: 'change-grid' }>,
  { run, evaluation }: ActionContext,
): Promise<ActionResult> {
  return run.context.runExclusively(async () => {
    const rows = change(await readWithDefaults(evaluation, (scope) => readGrid(scope, grid)));
    evaluation.scope.setGrid(grid, rows);
    return { status: 'SUCCESS', rowCount: rows.length };
  });
}

/** The result of a query; undefined if it has more rows than the limit. */
export async function queryUpTo(
  { warehouse }: RunContext,
  query: string,
  limit: number,
): Promise<QueryResult | undefined> {
  // One row more shows that there are too many, without reading them all.
  const result = await warehouse.query(
    `SELECT * FROM (\n${query}\n) AS "query" LIMIT ${limit + 1}`,
    limit + 1,
  );
  return result.rows.length > limit ? undefined : result;
}

export function describeTooManyRows(what: string, limit: number): string {
  return `the query returned more than ${limit} rows, which is the limit of ${what}: filter them or aggregate`;
}
