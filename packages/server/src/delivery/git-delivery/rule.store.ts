/** Delivery rules that are due, and what becomes of them. */
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import {
  type HeldWork,
  isHeldWork,
  LeaseLost,
  releaseWork,
  requireHeld,
} from '../../kernel/work/server-work.ts';

const keyTypes = { account_id: 'uuid', work_id: 'uuid' } as const satisfies ColumnTypes;

const dueRuleRow = {
  project_id: 'uuid',
  branch_name: 'text',
  environment_name: 'text',
  written_by: 'uuid',
  /** By commit. Null: no push was recorded since the rule was looked at. */
  pushers: typed<Readonly<Record<string, string>> | null>('jsonb'),
  commit_hash: 'text?',
  problem: 'text?',
  provider: 'text',
} satisfies ColumnTypes;
/** A rule that this server holds. */
export interface DueRule extends RowOf<typeof dueRuleRow> {
  held: HeldWork;
  account_id: string;
}

const selectRule = statement(
  { parameters: { ...keyTypes, epoch: 'bigint' }, row: dueRuleRow },
  `
  select r.project_id, r.branch_name, r.environment_name, r.written_by, r.pushers, r.commit_hash, r.problem, p.provider
  from delivery_rule r join repository p on p.account_id = r.account_id and p.project_id = r.project_id
  where r.account_id = $account_id and r.work_id = $work_id and ${isHeldWork('r')}`,
);

/** @throws LeaseLost */
export async function readRule(read: Read, held: HeldWork): Promise<DueRule> {
  const { account_id, work_id, epoch } = held;
  const [row] = await read(selectRule, { account_id, work_id, epoch });
  if (row === undefined) throw new LeaseLost();
  return { ...row, held, account_id };
}

// A write that has begun may have moved the branch already, and its end will say whose the push was.
const lockRow = statement(
  {
    parameters: { ...keyTypes, project_id: 'uuid', known_pushers: 'jsonb?', moves: 'jsonb' },
    row: { is_same: 'boolean', is_being_moved: 'boolean' },
  },
  `
  select pushers is not distinct from $known_pushers as is_same, exists (
      select from repository_write w
      where w.account_id = $account_id and w.project_id = $project_id and w.moves @> $moves) as is_being_moved
  from delivery_rule where account_id = $account_id and work_id = $work_id for update`,
);

/** Somebody pushed to the hosted branch since the claim: what was read may be theirs, with other rights. */
export class BranchMoved extends Error {
  override name = 'BranchMoved';
}

/** A rule in a transaction that keeps its lease. */
export interface LockedRule {
  /** A push, or somebody who wrote the rule, has woken it since it was read. */
  isWoken: boolean;
  isBeingMoved: boolean;
}

/** @throws LeaseLost */
export async function lockRule(tx: Transaction, rule: DueRule): Promise<LockedRule> {
  const { account_id, project_id, held } = rule;
  const moves = JSON.stringify([{ name: `refs/heads/${rule.branch_name}` }]);
  const about = { account_id, work_id: held.work_id, project_id, known_pushers: renderPushers(rule), moves };
  const [[row], { is_woken }] = await Promise.all([tx.query(lockRow, about), requireHeld(tx, held)]);
  return { isWoken: is_woken || row?.is_same !== true, isBeingMoved: row?.is_being_moved === true };
}

/** @throws LeaseLost, BranchMoved */
export async function lockUnmovedRule(tx: Transaction, rule: DueRule): Promise<LockedRule> {
  const locked = await lockRule(tx, rule);
  if (rule.provider === 'headgate' && (locked.isWoken || locked.isBeingMoved))
    throw new BranchMoved('The branch has moved.');
  return locked;
}

// The pusher of a push that was handled is forgotten: the next commit may come from elsewhere, after a migration for
// example. One that came during the lease counts for the next look.
const finishHeld = statement(
  {
    parameters: {
      ...keyTypes,
      keeps_pushers: 'boolean',
      commit_hash: 'text?',
      version_name: 'text?',
      published_at: 'timestamptz?',
      problem: 'text?',
      findings: 'text?',
    },
  },
  `
  update delivery_rule set commit_hash = $commit_hash, problem = $problem, pushers = case when $keeps_pushers then pushers end,
    version_name = coalesce($version_name, version_name), published_at = coalesce($published_at, published_at),
    findings = case when coalesce($version_name, version_name) is not distinct from version_name then coalesce($findings, findings)
      else $findings end
  where account_id = $account_id and work_id = $work_id`,
);

export interface RuleEnd {
  /** The commit that was published or refused. */
  commitHash: string | null;
  /** Null: a push, or writing the rules again, makes it due. */
  nextDueAt: Date | null;
  /** The push was neither published nor refused, and is tried again. */
  isPending?: boolean;
  /** `findings`: what is wrong with its pipelines. */
  published?: { versionName: string; at: Date; findings?: string | undefined };
  problem?: string | undefined;
}

/** Ends the lease of a rule that was locked. */
export async function finishRule(
  tx: Pick<Transaction, 'send' | 'query'>,
  { held }: DueRule,
  { isWoken }: LockedRule,
  end: RuleEnd,
  now: Date,
): Promise<void> {
  const { isPending = false } = end;
  tx.send(finishHeld, {
    account_id: held.account_id,
    work_id: held.work_id,
    keeps_pushers: isWoken || isPending,
    commit_hash: end.commitHash,
    version_name: end.published?.versionName ?? null,
    published_at: end.published?.at ?? null,
    problem: end.problem?.slice(0, 2_000) ?? null,
    findings: end.published?.findings?.slice(0, 2_000) ?? null,
  });
  const outcome = isPending ? 'failed' : 'done';
  await releaseWork(tx.query, held, { outcome, dueAt: end.nextDueAt, now });
}

const renderPushers = ({ pushers }: DueRule) => (pushers === null ? null : JSON.stringify(pushers));

const selectVersions = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      base: 'text',
    },
    row: {
      newest_name: 'text?',
      newest_commit: 'text?',
      newest_branch: 'text?',
      taken: 'text[]?',
    },
  },
  `
  select newest.version_name as newest_name, newest.commit_hash as newest_commit, newest.branch as newest_branch, (
    select array_agg(v.version_name) from artifact_version v
    where v.account_id = $account_id and v.project_id = $project_id and v.environment_name = $environment_name
      and (v.version_name = $base or starts_with(v.version_name, $base || '.'))) as taken
  from (select) one left join lateral (
    select version_name, commit_hash, branch from artifact_version
    where account_id = $account_id and project_id = $project_id and environment_name = $environment_name
    order by deployed_at desc, version_name desc limit 1) newest on true`,
);

export interface KnownVersions {
  newest: { name: string; commit: string | null; branch: string | null } | undefined;
  /** Names that are the base, or begin with it and a dot. */
  taken: ReadonlySet<string>;
}

export async function readKnownVersions(
  read: Read,
  rule: Pick<DueRule, 'account_id' | 'project_id' | 'environment_name'>,
  base: string,
): Promise<KnownVersions> {
  const { account_id, project_id, environment_name } = rule;
  const [row] = await read(selectVersions, { account_id, project_id, environment_name, base });
  const name = row?.newest_name ?? undefined;
  return {
    newest:
      name === undefined
        ? undefined
        : { name, commit: row?.newest_commit ?? null, branch: row?.newest_branch ?? null },
    taken: new Set(row?.taken ?? []),
  };
}
