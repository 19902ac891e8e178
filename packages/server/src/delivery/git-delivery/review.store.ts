/** Checks of branches that a pull or merge request wants to merge: the table `git_review`. */
import { type ColumnTypes, type Read, type RowOf, statement } from '../../kernel/database/database.ts';
import { type HeldWork, isHeldWork, LeaseLost } from '../../kernel/work/server-work.ts';
import { createRemoval } from './old-row.store.ts';

const keyTypes = { account_id: 'uuid', work_id: 'uuid' } as const satisfies ColumnTypes;

const dueReviewRow = { project_id: 'uuid', branch_name: 'text' } satisfies ColumnTypes;
/** A review that this server holds. */
export interface DueReview extends RowOf<typeof dueReviewRow> {
  held: HeldWork;
  account_id: string;
}

const selectReview = statement(
  { parameters: { ...keyTypes, epoch: 'bigint' }, row: dueReviewRow },
  `
  select r.project_id, r.branch_name from git_review r
  where r.account_id = $account_id and r.work_id = $work_id and ${isHeldWork('r')}`,
);

/** @throws LeaseLost */
export async function readReview(read: Read, held: HeldWork): Promise<DueReview> {
  const { account_id, work_id, epoch } = held;
  const [row] = await read(selectReview, { account_id, work_id, epoch });
  if (row === undefined) throw new LeaseLost();
  return { ...row, held, account_id };
}

/** What the check found. */
export interface ReviewResult {
  commit: string;
  outcome: 'success' | 'failure';
  errors: number;
  warnings: number;
  findings: readonly object[];
}

export const finishReview = statement(
  {
    parameters: {
      ...keyTypes,
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
  update git_review set problem = $problem, touched_at = $now,
    commit_hash = coalesce($commit_hash, commit_hash), outcome = coalesce($outcome, outcome),
    errors = coalesce($errors, errors), warnings = coalesce($warnings, warnings),
    findings = coalesce($findings, findings),
    checked_at = case when $outcome::text is null then checked_at else $now end
  where account_id = $account_id and work_id = $work_id`,
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

export const warehouseToCheck = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: { warehouse: 'text' } },
  'select warehouse from project where account_id = $account_id and project_id = $project_id',
);

/** One row if an environment of the project asks for quality reviews. */
export const gatedEnvironments = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: { name: 'text' } },
  `
  select name from environment where account_id = $account_id and project_id = $project_id and quality_gate <> 'NONE' limit 1`,
);
