/**
 * Whether the budget of a project stops starts. Starts at the same moment see the same sum, so all of them may start.
 */
import { type Read, statement, typed } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';

/** SQL: the first moment of the month of a time, in UTC. */
export const monthOf = (time: string) => `date_trunc('month', ${time}::timestamptz, 'UTC')`;

/** `2026-11` */
export const describeMonth = (time: Date) => time.toISOString().slice(0, 7);

/** SQL: a part of a budget, in credits. The product of two small floating point numbers would be an error. */
export const limitOf = (budget: string, part: string) =>
  `${budget}.monthly_credits::numeric * (${part})::numeric`;

/** In credits. */
export interface BudgetStop {
  spent: number;
  limit: number;
}

/** SQL: a BudgetStop as JSON; null if nothing is stopped. The arguments are SQL. */
export const selectBudgetStop = (account: string, project: string, now: string) =>
  `(select json_build_object('spent', round(coalesce(spending.credits, 0), 6), 'limit', round(${limitOf('budgeted', 'budgeted.stop_at')}, 6))
    from budget budgeted
    left join consumption_month spending on spending.account_id = budgeted.account_id
      and spending.month = ${monthOf(now)} and spending.project_id = budgeted.project_id
    where budgeted.account_id = ${account} and budgeted.project_id = ${project}
      and coalesce(spending.credits, 0) >= ${limitOf('budgeted', 'budgeted.stop_at')}
      and (budgeted.lifted_until is null or budgeted.lifted_until <= ${now}::timestamptz))`;

export const budgetStopType = typed<BudgetStop | null>('json');

export function createBudgetProblem(stop: BudgetStop, now: Date) {
  return problem('budget-exceeded', { ...stop, month: describeMonth(now) });
}

/** Throws `budget-exceeded`. */
export function requireBudget(stop: BudgetStop | null, now: Date): void {
  if (stop !== null) throw createBudgetProblem(stop, now);
}

const stopOfProject = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', now: 'timestamptz' },
    row: { stop: budgetStopType },
  },
  `select ${selectBudgetStop('$account_id', '$project_id', '$now')} as stop`,
);

/** Throws `budget-exceeded`. */
export async function requireBudgetOf(
  read: Read,
  { accountId, projectId }: { accountId: string; projectId: string },
  now: Date,
): Promise<void> {
  const [row] = await read(stopOfProject, { account_id: accountId, project_id: projectId, now });
  requireBudget(row?.stop ?? null, now);
}
