import type { GitReview } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';

const reviewRow = {
  branch_name: 'text',
  commit_hash: 'text?',
  outcome: typed<GitReview['outcome'] | null>('text'),
  errors: 'integer?',
  warnings: 'integer?',
  findings: typed<GitReview['findings'] | null>('jsonb'),
  checked_at: 'timestamptz?',
  problem: 'text?',
  is_pending: 'boolean',
} satisfies ColumnTypes;

const chosen = `
  from git_review where account_id = $account_id and project_id = $project_id
    and ($branch_name::text is null or branch_name = $branch_name)`;

export const reviewPage = guardedPage(
  { parameters: { branch_name: 'text?', limit: 'bigint', offset: 'bigint' }, row: reviewRow },
  {
    rows: `
    select branch_name, commit_hash, outcome, errors, warnings, findings, checked_at, problem, exists (
        select from server_work w
        where w.account_id = git_review.account_id and w.work_id = git_review.work_id and w.claimable_at is not null
      ) as is_pending ${chosen}
    order by touched_at desc, branch_name desc limit $limit offset $offset`,
    total: `select count(*) as total ${chosen}`,
  },
);

export function presentReview(row: RowOf<typeof reviewRow>): GitReview {
  return {
    branchName: row.branch_name,
    isPending: row.is_pending,
    findings: row.findings ?? [],
    ...(row.commit_hash === null ? {} : { commitHash: row.commit_hash }),
    ...(row.outcome === null || row.outcome === undefined ? {} : { outcome: row.outcome }),
    ...(row.errors === null ? {} : { errors: row.errors }),
    ...(row.warnings === null ? {} : { warnings: row.warnings }),
    ...(row.checked_at === null ? {} : { checkedAt: row.checked_at.toISOString() }),
    ...(row.problem === null ? {} : { problem: row.problem }),
  };
}
