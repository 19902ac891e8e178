/** Checks the rows of queries. */
import type { Action } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';

export async function assertChecks(
  { checks, fault: found }: Extract<Action, { action: 'assert' }>,
  { run, component }: ActionContext,
): Promise<ActionResult> {
  const { warehouse, request, asserts } = run.context;
  let counted: number | undefined;
  let fault = found;
  for (const check of checks) {
    if (fault !== undefined) break;
    const { rows } = await warehouse.query(check.query, request.bounds.variableRows);
    if (check.counts) counted = Number(rows[0]?.[0]);
    fault = check.verify(rows);
  }
  asserts?.add({ path: run.pipeline.path, component: component.name }, fault);
  const rowCount = counted === undefined ? {} : { rowCount: counted };
  if (fault !== undefined) return { status: 'FAILED', message: fault.message, ...rowCount };
  return { status: 'SUCCESS', ...rowCount };
}
