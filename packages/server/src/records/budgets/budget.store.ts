/** The table `budget`, and what projects have spent of their budgets. */
import { type Budget, defaultWarnAt } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { describeMonth, limitOf, monthOf } from './budget-stop.ts';

const budgetRow = {
  budget_id: 'uuid',
  project_name: 'text',
  monthly_credits: 'double precision',
  warn_at: 'double precision',
  stop_at: 'double precision?',
  lifted_until: 'timestamptz?',
  version: 'bigint',
  /** This month. */
  spent: 'double precision',
} satisfies ColumnTypes;
export type BudgetRow = RowOf<typeof budgetRow>;

const selectBudget = `
  select b.budget_id, p.name as project_name, b.monthly_credits, b.warn_at, b.stop_at, b.lifted_until, b.version,
    round(coalesce(m.credits, 0), 6)::double precision as spent
  from budget b
  join project p on p.account_id = b.account_id and p.project_id = b.project_id
  left join consumption_month m on m.account_id = b.account_id and m.month = ${monthOf('$now')} and m.project_id = b.project_id
  where b.account_id = $account_id and b.project_id = $project_id`;

export const budgetOfProject = guardedRead({ row: budgetRow }, selectBudget);

const budgetKey = { account_id: 'uuid', project_id: 'uuid', now: 'timestamptz' } as const;
const selectOne = statement({ parameters: budgetKey, row: budgetRow }, selectBudget);
const lockOne = statement({ parameters: budgetKey, row: budgetRow }, `${selectBudget} for update of b`);

export interface BudgetKey {
  accountId: string;
  projectId: string;
  now: Date;
}

const toKey = ({ accountId, projectId, now }: BudgetKey) => ({
  account_id: accountId,
  project_id: projectId,
  now,
});

export async function lockBudget(tx: Transaction, key: BudgetKey): Promise<BudgetRow | undefined> {
  const [row] = await tx.query(lockOne, toKey(key));
  return row;
}

const upsertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      budget_id: 'uuid',
      monthly_credits: 'double precision',
      warn_at: 'double precision',
      stop_at: 'double precision?',
      lifted_until: 'timestamptz?',
    },
  },
  `
  insert into budget as b (account_id, project_id, budget_id, monthly_credits, warn_at, stop_at, lifted_until, version)
  values ($account_id, $project_id, $budget_id, $monthly_credits, $warn_at, $stop_at, $lifted_until, 1)
  on conflict on constraint budget_key do update set monthly_credits = excluded.monthly_credits, warn_at = excluded.warn_at,
    stop_at = excluded.stop_at, lifted_until = excluded.lifted_until, version = b.version + 1`,
);

export type WrittenBudget = Pick<Budget, 'monthlyCredits' | 'liftedUntil' | 'stopAt'> & { warnAt?: number };

export async function writeBudget(
  tx: Transaction,
  key: BudgetKey,
  budgetId: string,
  { monthlyCredits, warnAt = defaultWarnAt, stopAt, liftedUntil }: WrittenBudget,
): Promise<BudgetRow> {
  tx.send(upsertOne, {
    account_id: key.accountId,
    project_id: key.projectId,
    budget_id: budgetId,
    monthly_credits: monthlyCredits,
    warn_at: warnAt,
    stop_at: stopAt ?? null,
    lifted_until: liftedUntil === undefined ? null : new Date(liftedUntil),
  });
  const rows = await tx.query(selectOne, toKey(key));
  return requireRow(rows, () => problem('budget-not-found'));
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' } },
  'delete from budget where account_id = $account_id and project_id = $project_id',
);

export function deleteBudgetRow(tx: Transaction, { accountId, projectId }: BudgetKey): void {
  tx.send(deleteOne, { account_id: accountId, project_id: projectId });
}

// The lock makes one transaction after the other see that the event of the month was written.
const notePassed = statement(
  {
    parameters: { account_ids: 'uuid[]', project_ids: 'uuid[]', now: 'timestamptz' },
    row: {
      account_id: 'uuid',
      project_id: 'uuid',
      ...budgetRow,
      warns: 'boolean',
      exceeds: 'boolean',
    },
  },
  `
  with held as (
    select b.account_id, b.project_id, b.budget_id, b.monthly_credits, b.warn_at, b.stop_at, b.lifted_until, b.version,
      b.warned_month, b.exceeded_month, ${monthOf('$now')} as month
    from unnest($account_ids::uuid[], $project_ids::uuid[]) as g (account_id, project_id)
    join budget b on b.account_id = g.account_id and b.project_id = g.project_id
    order by b.account_id, b.project_id
    for update of b
  ), judged as (
    select h.account_id, h.project_id, h.budget_id, h.monthly_credits, h.warn_at, h.stop_at, h.lifted_until, h.version,
      l.spent, l.warned_month, l.exceeded_month,
      l.warned_month is not null and h.warned_month is distinct from h.month as warns,
      l.exceeded_month is not null and h.exceeded_month is distinct from h.month as exceeds
    from held h
    left join consumption_month m on m.account_id = h.account_id and m.month = h.month and m.project_id = h.project_id
    cross join lateral (select coalesce(m.credits, 0) as spent,
      case when coalesce(m.credits, 0) >= ${limitOf('h', 'h.warn_at')} then h.month end as warned_month,
      case when coalesce(m.credits, 0) >= ${limitOf('h', 'coalesce(h.stop_at, 1)')} then h.month end as exceeded_month) l
  ), noted as (
    -- A budget that was raised is below its limits again, and says so when it passes them.
    update budget b set warned_month = j.warned_month, exceeded_month = j.exceeded_month
    from judged j
    where b.account_id = j.account_id and b.project_id = j.project_id
      and (b.warned_month is distinct from j.warned_month or b.exceeded_month is distinct from j.exceeded_month)
  )
  select j.account_id, j.project_id, j.budget_id, p.name as project_name, j.monthly_credits, j.warn_at, j.stop_at, j.lifted_until,
    j.version, round(j.spent, 6)::double precision as spent, j.warns, j.exceeds
  from judged j
  join project p on p.account_id = j.account_id and p.project_id = j.project_id
  where j.warns or j.exceeds`,
);

/**
 * Notes which of these projects have passed a limit of their budgets for the first time in this month. Returns the
 * events, by account.
 */
export async function notePassedBudgets(
  tx: Transaction,
  projects: readonly Omit<BudgetKey, 'now'>[],
  now: Date,
): Promise<ReadonlyMap<string, readonly AccountEvent[]>> {
  if (projects.length === 0) return new Map();
  const passed = await tx.query(notePassed, {
    account_ids: projects.map(({ accountId }) => accountId),
    project_ids: projects.map(({ projectId }) => projectId),
    now,
  });
  const eventsOf = (row: (typeof passed)[number]) => [
    ...(row.warns ? [buildPassedEvent('budget-warned', row, now)] : []),
    ...(row.exceeds ? [buildPassedEvent('budget-limit-reached', row, now)] : []),
  ];
  const byAccount = Map.groupBy(passed, (row) => row.account_id);
  return new Map(Array.from(byAccount, ([accountId, rows]) => [accountId, rows.flatMap(eventsOf)]));
}

/** `code`, `detail` and `since` are those of an alert. */
function buildPassedEvent(
  code: 'budget-warned' | 'budget-limit-reached',
  row: BudgetRow & { project_id: string },
  now: Date,
): AccountEvent {
  const budget = presentBudget(row, now);
  const isLifted = row.lifted_until !== null && row.lifted_until > now;
  const stops = code === 'budget-limit-reached' && row.stop_at !== null && !isLifted;
  const stop = stops ? ' Nothing more starts.' : '';
  const detail = `The project has spent ${budget.spent} of the ${budget.monthlyCredits} credits of its budget in ${budget.month}.${stop}`;
  return buildBudgetEvent(code, row, { after: { ...budget, code, detail, since: now.toISOString() } });
}

export function buildBudgetEvent(
  name: AccountEvent['name'],
  row: BudgetRow & { project_id: string },
  states: { before?: object; after?: object },
): AccountEvent {
  const subject = { type: 'budget', id: row.project_id, name: row.project_name };
  return { name, projectId: row.project_id, subject, ...states };
}

export function renderBudgetEtag({ budget_id: id, version }: BudgetRow): string {
  return makeEntityTag(id, version);
}

export function presentBudget(row: BudgetRow, now: Date): Budget {
  return {
    monthlyCredits: row.monthly_credits,
    warnAt: row.warn_at,
    ...(row.stop_at === null ? {} : { stopAt: row.stop_at }),
    ...(row.lifted_until === null ? {} : { liftedUntil: row.lifted_until.toISOString() }),
    spent: row.spent,
    month: describeMonth(now),
  };
}
