/** Checks the rows of queries. */
import type { Action } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';

export async function assertChecks(
  { checks }: Extract<Action, { action: 'assert' }>,
  { run }: ActionContext,
): Promise<ActionResult> {
  const { warehouse, request } = run.context;
  let counted: number | undefined;
  for (const check of checks) {
    const { rows } = await warehouse.query(check.query, request.bounds.variableRows);
    if (check.counts) counted = Number(rows[0]?.[0]);
    const message = check.verify(rows);
    if (message !== undefined)
      return { status: 'FAILED', message, ...(counted === undefined ? {} : { rowCount: counted }) };
  }
  return { status: 'SUCCESS', ...(counted === undefined ? {} : { rowCount: counted }) };
}
