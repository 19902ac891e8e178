/** Checks of branches that a pull or merge request wants to merge: the table `git_review`. */
import { addSeconds } from '../../kernel/clock.ts';
import { type ColumnTypes, type Read, type RowOf, statement } from '../../kernel/database/database.ts';
import { countInterruption, selectDueRows } from '../../kernel/work/interruption.ts';
import { createRemoval } from './old-row.store.ts';
import type { Claim } from './rule.store.ts';

const heldTypes = {
  account_id: 'uuid',
  project_id: 'uuid',
  branch_name: 'text',
  epoch: 'bigint',
} as const satisfies ColumnTypes;
const isHeld = `account_id = $account_id and project_id = $project_id and branch_name = $branch_name and epoch = $epoch`;

const dueReviewRow = {
  ...heldTypes,
  due_at: 'timestamptz',
  attempts: 'integer',
  interruptions: 'integer',
} satisfies ColumnTypes;
export type DueReview = RowOf<typeof dueReviewRow>;

/** Written into the statement: the planner must know that it is small. */
export const reviewBatch = 8;

const claimDue = statement(
  {
    parameters: { limit: 'bigint', lease_until: 'timestamptz', now: 'timestamptz', busy: 'uuid[]' },
    row: dueReviewRow,
    alone: true,
  },
  `
  with ${selectDueRows({
    table: 'git_review',
    key: ['account_id', 'project_id', 'branch_name'],
    isDue: 'due_at <= $now and account_id <> all ($busy::uuid[])',
    most: reviewBatch,
  })}
  update git_review r set lease_until = $lease_until, epoch = r.epoch + 1, looked_at = $now,
    ${countInterruption('r')}
  from due
  where r.account_id = due.account_id and r.project_id = due.project_id and r.branch_name = due.branch_name
  returning r.account_id, r.project_id, r.branch_name, r.epoch, r.due_at, r.attempts, r.interruptions`,
);

export function claimDueReviews(read: Read, { now, leaseSeconds, most, busy }: Claim): Promise<DueReview[]> {
  const limit = Math.min(most, reviewBatch);
  return read(claimDue, { limit, lease_until: addSeconds(now, leaseSeconds), now, busy });
}

const renewHeld = statement(
  {
    parameters: {
      accounts: 'uuid[]',
      projects: 'uuid[]',
      branches: 'text[]',
      epochs: 'bigint[]',
      lease_until: 'timestamptz',
    },
    alone: true,
  },
  `
  update git_review r set lease_until = $lease_until
  from unnest($accounts::uuid[], $projects::uuid[], $branches::text[], $epochs::bigint[])
    as held (account_id, project_id, branch_name, epoch)
  where r.account_id = held.account_id and r.project_id = held.project_id and r.branch_name = held.branch_name
    and r.epoch = held.epoch and r.lease_until is not null`,
);

/** Extends the leases that were neither ended nor lost. */
export async function renewReviews(read: Read, reviews: readonly DueReview[], until: Date): Promise<void> {
  await read(renewHeld, {
    accounts: reviews.map((review) => review.account_id),
    projects: reviews.map((review) => review.project_id),
    branches: reviews.map((review) => review.branch_name),
    epochs: reviews.map((review) => review.epoch),
    lease_until: until,
  });
}

/** What the check found. */
export interface ReviewResult {
  commit: string;
  outcome: 'success' | 'failure';
  errors: number;
  warnings: number;
  findings: readonly object[];
}

// A wake during the lease has set another time, which then counts.
export const finishReview = statement(
  {
    parameters: {
      ...heldTypes,
      known_due_at: 'timestamptz',
      next_due_at: 'timestamptz?',
      attempts: 'integer',
      commit_hash: 'text?',
      outcome: 'text?',
      errors: 'integer?',
      warnings: 'integer?',
      findings: 'jsonb?',
      problem: 'text?',
      now: 'timestamptz',
    },
  },
  `
  update git_review set lease_until = null, interruptions = 0, attempts = $attempts, problem = $problem, touched_at = $now,
    due_at = case when due_at = $known_due_at then $next_due_at else due_at end,
    commit_hash = coalesce($commit_hash, commit_hash), outcome = coalesce($outcome, outcome),
    errors = coalesce($errors, errors), warnings = coalesce($warnings, warnings),
    findings = coalesce($findings, findings),
    checked_at = case when $outcome::text is null then checked_at else $now end
  where ${isHeld}`,
);

export const reviewRemovalBatch = 1_000;

export const removeOldReviews = createRemoval({
  table: 'git_review',
  age: 'touched_at',
  days: 30,
  batch: reviewRemovalBatch,
});

const selectVariables = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', names: 'text[]' }, row: { name: 'text' } },
  `select name from variable
   where account_id = $account_id and project_id = $project_id and name = any ($names::text[])`,
);
const selectSecrets = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', names: 'text[]' }, row: { name: 'text' } },
  `select name from secret_reference
   where account_id = $account_id and project_id = $project_id and name = any ($names::text[])`,
);

/** What the pipelines of a branch may refer to: nobody asks, so nobody's rights are checked. */
export const existingNames = { variables: selectVariables, secrets: selectSecrets };

/** One row if an environment of the project asks for quality reviews. */
export const gatedEnvironments = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: { name: 'text' } },
  `
  select name from environment where account_id = $account_id and project_id = $project_id and quality_gate <> 'NONE' limit 1`,
);
