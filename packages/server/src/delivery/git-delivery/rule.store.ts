/** Delivery rules that are due, and what becomes of them. Each write is refused if another server has the lease. */
import { addSeconds } from '../../kernel/clock.ts';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { countInterruption, selectDueRows } from '../../kernel/work/interruption.ts';

const keyTypes = {
  account_id: 'uuid',
  project_id: 'uuid',
  branch_name: 'text',
  environment_name: 'text',
} as const satisfies ColumnTypes;
const isKey = `account_id = $account_id and project_id = $project_id and branch_name = $branch_name
    and environment_name = $environment_name`;
const heldTypes = { ...keyTypes, epoch: 'bigint' } as const;
const isHeld = `${isKey} and epoch = $epoch`;

const dueRuleRow = {
  ...heldTypes,
  written_by: 'uuid',
  /** By commit. Null: no push was recorded since the rule was looked at. */
  pushers: typed<Readonly<Record<string, string>> | null>('jsonb'),
  commit_hash: 'text?',
  problem: 'text?',
  due_at: 'timestamptz',
  interruptions: 'integer',
  provider: 'text',
} satisfies ColumnTypes;
/** A rule that this server holds until the end of the lease. */
export type DueRule = RowOf<typeof dueRuleRow>;

/** Written into the statement: the planner must know that it is small. */
export const dueRuleBatch = 16;

const claimDue = statement(
  {
    parameters: { limit: 'bigint', lease_until: 'timestamptz', now: 'timestamptz', busy: 'uuid[]' },
    row: dueRuleRow,
    alone: true,
  },
  `
  with ${selectDueRows({
    table: 'delivery_rule',
    key: ['account_id', 'project_id', 'branch_name', 'environment_name'],
    isDue: 'due_at <= $now and account_id <> all ($busy::uuid[])',
    most: dueRuleBatch,
  })}
  update delivery_rule r set lease_until = $lease_until, epoch = r.epoch + 1, looked_at = $now,
    ${countInterruption('r')}
  from due join repository p on p.account_id = due.account_id and p.project_id = due.project_id
  where r.account_id = due.account_id and r.project_id = due.project_id and r.branch_name = due.branch_name
    and r.environment_name = due.environment_name
  returning r.account_id, r.project_id, r.branch_name, r.environment_name, r.epoch, r.written_by, r.pushers,
    r.commit_hash, r.problem, r.due_at, r.interruptions, p.provider`,
);

export interface Claim {
  now: Date;
  leaseSeconds: number;
  most: number;
  /** Accounts that get nothing now. */
  busy: string[];
}

export function claimDueRules(read: Read, { now, leaseSeconds, most, busy }: Claim): Promise<DueRule[]> {
  const limit = Math.min(most, dueRuleBatch);
  return read(claimDue, { limit, lease_until: addSeconds(now, leaseSeconds), now, busy });
}

const renewHeld = statement(
  {
    parameters: {
      accounts: 'uuid[]',
      projects: 'uuid[]',
      branches: 'text[]',
      environments: 'text[]',
      epochs: 'bigint[]',
      lease_until: 'timestamptz',
    },
    alone: true,
  },
  `
  update delivery_rule r set lease_until = $lease_until
  from unnest($accounts::uuid[], $projects::uuid[], $branches::text[], $environments::text[], $epochs::bigint[])
    as held (account_id, project_id, branch_name, environment_name, epoch)
  where r.account_id = held.account_id and r.project_id = held.project_id and r.branch_name = held.branch_name
    and r.environment_name = held.environment_name and r.epoch = held.epoch and r.lease_until is not null`,
);

/** Extends the leases that were neither ended nor lost. */
export async function renewRules(read: Read, rules: readonly DueRule[], until: Date): Promise<void> {
  await read(renewHeld, {
    accounts: rules.map((rule) => rule.account_id),
    projects: rules.map((rule) => rule.project_id),
    branches: rules.map((rule) => rule.branch_name),
    environments: rules.map((rule) => rule.environment_name),
    epochs: rules.map((rule) => rule.epoch),
    lease_until: until,
  });
}

// A write that has begun may have moved the branch already, and its end will say whose the push was.
const lockHeld = statement(
  {
    parameters: {
      ...heldTypes,
      known_due_at: 'timestamptz',
      known_pushers: 'jsonb?',
      moves: 'jsonb',
    },
    row: { is_settled: 'boolean' },
  },
  `
  select due_at = $known_due_at and pushers is not distinct from $known_pushers and not exists (
      select from repository_write w
      where w.account_id = $account_id and w.project_id = $project_id and w.moves @> $moves) as is_settled
  from delivery_rule where ${isHeld} for update`,
);

/** Another server took the rule over, or somebody removed it. */
export class RuleLost extends Error {
  override name = 'RuleLost';
}

/** Somebody pushed to the hosted branch since the claim: what was read may be theirs, with other rights. */
export class BranchMoved extends Error {
  override name = 'BranchMoved';
}

/** Throws `RuleLost`, `BranchMoved`. */
export async function lockRule(tx: Transaction, rule: DueRule): Promise<void> {
  const [held] = await tx.query(lockHeld, {
    ...pickHeld(rule),
    known_due_at: rule.due_at,
    known_pushers: renderPushers(rule),
    moves: JSON.stringify([{ name: `refs/heads/${rule.branch_name}` }]),
  });
  if (held === undefined) throw new RuleLost('The delivery rule is not held any more.');
  if (rule.provider === 'headgate' && !held.is_settled) throw new BranchMoved('The branch has moved.');
}

// A wake during the lease has set another time or pusher, which then count. The pusher of a push that was
// handled is forgotten: the next commit may come from elsewhere, after a migration for example.
const isWoken = `(due_at <> $known_due_at or pushers is distinct from $known_pushers)`;
const finishHeld = statement(
  {
    parameters: {
      ...heldTypes,
      known_due_at: 'timestamptz',
      known_pushers: 'jsonb?',
      next_due_at: 'timestamptz',
      is_pending: 'boolean',
      commit_hash: 'text?',
      version_name: 'text?',
      published_at: 'timestamptz?',
      problem: 'text?',
      findings: 'text?',
    },
  },
  `
  update delivery_rule set lease_until = null, interruptions = 0, commit_hash = $commit_hash, problem = $problem,
    due_at = case when ${isWoken} then due_at else $next_due_at end,
    pushers = case when ${isWoken} or $is_pending then pushers end,
    version_name = coalesce($version_name, version_name), published_at = coalesce($published_at, published_at),
    findings = case when coalesce($version_name, version_name) is not distinct from version_name then coalesce($findings, findings)
      else $findings end
  where ${isHeld}`,
);

export interface RuleEnd {
  /** The commit that was published or refused. */
  commitHash: string | null;
  nextDueAt: Date;
  /** The push was neither published nor refused, and is tried again. */
  isPending?: boolean;
  /** `findings`: what is wrong with its pipelines. */
  published?: { versionName: string; at: Date; findings?: string | undefined };
  problem?: string | undefined;
}

/** Ends the lease. */
export function finishRule(send: Transaction['send'], rule: DueRule, end: RuleEnd): void {
  send(finishHeld, {
    ...pickHeld(rule),
    known_due_at: rule.due_at,
    known_pushers: renderPushers(rule),
    next_due_at: end.nextDueAt,
    is_pending: end.isPending ?? false,
    commit_hash: end.commitHash,
    version_name: end.published?.versionName ?? null,
    published_at: end.published?.at ?? null,
    problem: end.problem?.slice(0, 2_000) ?? null,
    findings: end.published?.findings?.slice(0, 2_000) ?? null,
  });
}

const renderPushers = ({ pushers }: DueRule) => (pushers === null ? null : JSON.stringify(pushers));

const pickHeld = ({ account_id, project_id, branch_name, environment_name, epoch }: DueRule) => ({
  account_id,
  project_id,
  branch_name,
  environment_name,
  epoch,
});

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
