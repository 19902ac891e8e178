import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { guardTypes } from '../../kernel/security/guarded-read.ts';
import type { Standing } from '../../kernel/security/permissions.ts';
import { type HeldWork, isHeldWork, LeaseLost } from '../../kernel/work/server-work.ts';

/** A change of one ref, by its full name. Null: it was not there, or is deleted. */
export interface RefChange {
  name: string;
  from: string | null;
  to: string | null;
}

// The rights of the caller at this moment.
const callerStanding = `rights($account_id::uuid, $principal_id::uuid, $project_id::uuid, $environment_of_rights::text,
  $account_roles::text[], $project_roles::text[], $environment_roles::text[], $now::timestamptz, $user_credential_id::uuid,
  $other_principal_ids::uuid[])`;

/** What a request of Git needs to know. The repository's columns are null without the right, or a repository. */
export const repositoryForGit = statement(
  {
    parameters: { ...guardTypes, project_id: 'uuid' },
    row: {
      standing: typed<Standing>('text'),
      provider: 'text?',
      default_branch: 'text?',
      protected_branches: 'text[]?',
      migration_id: 'uuid?',
    },
  },
  `
  select guard.standing, r.provider, r.default_branch, r.protected_branches,
    (select m.migration_id from repository_migration m
     where m.account_id = r.account_id and m.project_id = r.project_id and m.status = 'IN_PROGRESS') as migration_id
  from ${callerStanding} guard
  left join repository r
    on r.account_id = $account_id and r.project_id = $project_id and guard.standing = 'permitted'`,
);

const place = { account_id: 'uuid', project_id: 'uuid' } as const;

const lockedRow = {
  provider: 'text',
  clone_url: 'text?',
  default_branch: 'text?',
  protected_branches: 'text[]?',
} as const;
export type LockedRepository = RowOf<typeof lockedRow>;
const selectLocked = `
  select provider, clone_url, default_branch, protected_branches from repository
  where account_id = $account_id and project_id = $project_id`;
const lockShared = statement({ parameters: place, row: lockedRow }, `${selectLocked} for share`);
const lockExclusive = statement({ parameters: place, row: lockedRow }, `${selectLocked} for update`);

/**
 * Orders writes of refs and migrations of one repository. A write takes it shared, then begins if no migration
 * is in progress. A migration takes it exclusively, writes its row, and after the commit waits for the writes
 * that began before (`waitForWrites`). Call it before any other statement reads the repository's state.
 * @returns undefined if the project has no repository
 */
export async function lockForWrites(
  tx: Transaction,
  at: { accountId: string; projectId: string },
  how: 'shared' | 'exclusive',
): Promise<LockedRepository | undefined> {
  const lock = how === 'shared' ? lockShared : lockExclusive;
  const [row] = await tx.query(lock, { account_id: at.accountId, project_id: at.projectId });
  return row;
}

/** Of the work that ends a write whose server died. */
export const writeKind = 'repository-write';

/**
 * Begins a write if the caller still may, and no migration is in progress. If its row is still there at
 * `unfinished_at`, servers have to end it.
 */
export const beginWrite = statement(
  {
    parameters: {
      ...guardTypes,
      project_id: 'uuid',
      write_id: 'uuid',
      moves: 'jsonb',
      actor_kind: 'text',
      request_id: 'uuid?',
      unfinished_at: 'timestamptz',
    },
    row: { standing: typed<Standing>('text'), migration_id: 'uuid?', is_begun: 'boolean' },
  },
  `
  with caller as (
    select guard.standing from ${callerStanding} guard
  ), running as (
    select migration_id from repository_migration
    where account_id = $account_id and project_id = $project_id and status = 'IN_PROGRESS'
  ), begun as (
    insert into repository_write (account_id, project_id, write_id, moves, actor_id, actor_kind, request_id, begun_at)
    select $account_id, $project_id, $write_id, $moves, $principal_id, $actor_kind, $request_id, $now
    from caller where standing = 'permitted' and not exists (select from running)
    returning account_id, write_id
  ), scheduled as (
    insert into server_work (account_id, work_id, kind, due_at)
    select account_id, write_id, '${writeKind}', $unfinished_at from begun
  )
  select standing, (select migration_id from running) as migration_id, exists (select from begun) as is_begun
  from caller`,
);

const endWrite = statement(
  {
    parameters: { ...place, write_id: 'uuid' },
    row: { repository_name: 'text' },
  },
  `
  with gone as (
    delete from repository_write
    where account_id = $account_id and project_id = $project_id and write_id = $write_id
    returning account_id, project_id
  )
  select r.repository_name from gone join repository r using (account_id, project_id)`,
);

/** @returns the name of the repository; undefined if another server has ended the write, or the repository is gone */
export async function endWriteRow(
  tx: Transaction,
  at: { accountId: string; projectId: string; writeId: string },
): Promise<string | undefined> {
  const keys = { account_id: at.accountId, project_id: at.projectId, write_id: at.writeId };
  return (await tx.query(endWrite, keys))[0]?.repository_name;
}

/** Of a branch that is pushed to while its rule cannot be looked at. */
const mostPushers = 100;

// A deleted branch has no commit ('').
const wakeRules = statement(
  {
    parameters: { ...place, branches: 'text[]', commits: 'text[]', pushed_by: 'uuid', now: 'timestamptz' },
  },
  `
  with woken as (
    update delivery_rule r set pushers = case when push.commit_hash = '' then r.pushers else
      case when (select count(*) from jsonb_object_keys(r.pushers)) < ${mostPushers} then coalesce(r.pushers, '{}') else '{}' end
      || jsonb_build_object(push.commit_hash, $pushed_by::uuid) end
    from unnest($branches::text[], $commits::text[]) as push (branch_name, commit_hash)
    where r.account_id = $account_id and r.project_id = $project_id and r.branch_name = push.branch_name
    returning r.work_id
  )
  update server_work w set due_at = $now from woken where w.account_id = $account_id and w.work_id = woken.work_id`,
);

const heads = 'refs/heads/';

export function wakeDeliveryRules(
  tx: Transaction,
  at: { accountId: string; projectId: string },
  push: { changes: readonly RefChange[]; by: string; now: Date },
): void {
  const ofBranches = push.changes.filter(({ name }) => name.startsWith(heads));
  if (ofBranches.length === 0) return;
  tx.send(wakeRules, {
    account_id: at.accountId,
    project_id: at.projectId,
    branches: ofBranches.map(({ name }) => name.slice(heads.length)),
    commits: ofBranches.map(({ to }) => to ?? ''),
    pushed_by: push.by,
    now: push.now,
  });
}

const unfinishedRow = {
  project_id: 'uuid',
  moves: typed<readonly RefChange[]>('jsonb'),
  actor_id: 'uuid',
  actor_kind: typed<'credential' | 'user'>('text'),
  request_id: 'uuid?',
} satisfies ColumnTypes;
export type UnfinishedWrite = RowOf<typeof unfinishedRow>;

const selectUnfinished = statement(
  { parameters: { account_id: 'uuid', write_id: 'uuid', epoch: 'bigint' }, row: unfinishedRow },
  `
  select w.project_id, w.moves, w.actor_id, w.actor_kind, w.request_id from repository_write w
  where w.account_id = $account_id and w.write_id = $write_id and ${isHeldWork('w', 'write_id')}`,
);

/** @throws LeaseLost */
export async function readUnfinishedWrite(read: Read, held: HeldWork): Promise<UnfinishedWrite> {
  const { account_id, work_id: write_id, epoch } = held;
  const [row] = await read(selectUnfinished, { account_id, write_id, epoch });
  if (row === undefined) throw new LeaseLost();
  return row;
}

const selectHasWrites = statement(
  { parameters: place, row: { is_writing: 'boolean' } },
  `select exists (
    select from repository_write where account_id = $account_id and project_id = $project_id) as is_writing`,
);

export async function hasWrites(read: Read, at: { accountId: string; projectId: string }): Promise<boolean> {
  const [row] = await read(selectHasWrites, { account_id: at.accountId, project_id: at.projectId });
  return row?.is_writing === true;
}
