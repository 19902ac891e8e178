/** The table `directory_member`, changed by sets. */
import type { GroupMember } from '@headgate/contract';
import { type ColumnTypes, type RowOf, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import { guardedPage, inEffect } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { presentUser, userColumns, userRow } from '../users/index.ts';

const memberRow = {
  ...userRow,
  added_by: 'uuid?',
  added_at: 'timestamptz?',
  expires_at: 'timestamptz?',
  reason: 'text?',
} satisfies ColumnTypes;

export const memberPage = guardedPage(
  { parameters: { group_id: 'uuid', limit: 'bigint', offset: 'bigint' }, row: memberRow },
  {
    rows: `
    select ${userColumns}, m.added_by, m.added_at, m.expires_at, m.reason from directory_user
    join (
      select o.user_id as member_id, o.added_by, o.added_at, o.expires_at, o.reason from directory_member o
      where o.account_id = $account_id and o.group_id = $group_id and ${inEffect('o')}) m on m.member_id = user_id
    where account_id = $account_id
    order by user_name_key limit $limit offset $offset`,
    total: `
    select count(*)::bigint as total from directory_member m
    where m.account_id = $account_id and m.group_id = $group_id and ${inEffect('m')}`,
  },
);

export function presentMember(row: RowOf<typeof memberRow>): GroupMember {
  const member: GroupMember = presentUser(row);
  if (row.added_by !== null) member.addedBy = row.added_by;
  if (row.added_at !== null) member.addedAt = row.added_at.toISOString();
  if (row.expires_at !== null) member.expiresAt = row.expires_at.toISOString();
  if (row.reason !== null) member.reason = row.reason;
  return member;
}

const ofGroup = { account_id: 'uuid', group_id: 'uuid' } as const;

/** Of the ids that a problem names. */
const mostNamed = 10;
const selectUnknown = statement(
  { parameters: { account_id: 'uuid', user_ids: 'uuid[]' }, row: { user_id: 'uuid' } },
  `
  select wanted.user_id from unnest($user_ids::uuid[]) as wanted (user_id)
  where not exists (select from directory_user u where u.account_id = $account_id and u.user_id = wanted.user_id) limit ${mostNamed}`,
);

/** The first ids that no user of the account has. */
export async function findUnknownUsers(
  tx: Transaction,
  scope: Scope,
  ids: ReadonlySet<string>,
): Promise<string[]> {
  if (ids.size === 0) return [];
  const impossible = [...ids].filter((id) => !isUuid(id));
  const possible = [...ids].filter(isUuid);
  const found = await tx.query(selectUnknown, { account_id: scope.accountId, user_ids: possible });
  return [...found.map(({ user_id }) => user_id), ...impossible].slice(0, mostNamed);
}

const changedRow = { user_id: 'uuid', display: 'text' } as const;
const insertMembers = statement(
  {
    parameters: {
      ...ofGroup,
      user_ids: 'uuid[]',
      identity_issuer_id: 'uuid?',
      added_by: 'uuid',
      now: 'timestamptz',
      expires_at: 'timestamptz?',
      reason: 'text?',
      replaces_end: 'boolean',
    },
    row: { ...changedRow, is_new: 'boolean' },
  },
  `
  with present as (
    select m.user_id, m.expires_at <= $now as has_ended,
      $replaces_end and (m.expires_at is distinct from $expires_at or m.reason is distinct from $reason) as has_other_end
    from directory_member m where m.account_id = $account_id and m.group_id = $group_id and m.user_id = any ($user_ids::uuid[])
  ), independent as (
    update directory_member m set identity_issuer_id = null from present p
    where m.account_id = $account_id and m.group_id = $group_id and m.user_id = p.user_id and m.identity_issuer_id is not null
      and $identity_issuer_id::uuid is null and p.has_ended is not true and not p.has_other_end
  ), renewed as (
    update directory_member m set identity_issuer_id = $identity_issuer_id, added_by = $added_by, added_at = $now,
      expires_at = $expires_at, reason = $reason
    from present p
    where m.account_id = $account_id and m.group_id = $group_id and m.user_id = p.user_id and (p.has_ended or p.has_other_end)
    returning m.user_id, p.has_ended is true as is_new
  ), added as (
    insert into directory_member (account_id, group_id, user_id, identity_issuer_id, added_by, added_at, expires_at, reason)
    select $account_id, $group_id, wanted.user_id, $identity_issuer_id, $added_by, $now, $expires_at, $reason
    from unnest($user_ids::uuid[]) as wanted (user_id)
    on conflict do nothing returning user_id, true as is_new)
  select a.user_id, coalesce(u.display_name, u.user_name) as display, a.is_new
  from (select * from added union all select * from renewed) a
  join directory_user u on u.account_id = $account_id and u.user_id = a.user_id`,
);
const deleteMembers = statement(
  { parameters: { ...ofGroup, user_ids: 'uuid[]' }, row: changedRow },
  `
  with removed as (
    delete from directory_member m using unnest($user_ids::uuid[]) as unwanted (user_id)
    where m.account_id = $account_id and m.group_id = $group_id and m.user_id = unwanted.user_id returning m.user_id)
  select r.user_id, coalesce(u.display_name, u.user_name) as display
  from removed r join directory_user u on u.account_id = $account_id and u.user_id = r.user_id`,
);
const deleteOthers = statement(
  { parameters: { ...ofGroup, user_ids: 'uuid[]' }, row: changedRow },
  `
  with removed as (
    delete from directory_member m
    where m.account_id = $account_id and m.group_id = $group_id
      and not exists (select from unnest($user_ids::uuid[]) as kept (user_id) where kept.user_id = m.user_id) returning m.user_id)
  select r.user_id, coalesce(u.display_name, u.user_name) as display
  from removed r join directory_user u on u.account_id = $account_id and u.user_id = r.user_id`,
);

/** Of a membership: the id and name of its other side. */
export type Link = readonly [id: string, display: string];

/** A change of the members of one group. */
export interface MemberChange {
  /** Whether the present members stay, except the removed ones. */
  keeps: boolean;
  added: ReadonlySet<string>;
  removed: ReadonlySet<string>;
}

export interface ChangedMembers {
  added: Link[];
  /** With another end or reason. */
  changed: Link[];
  removed: Link[];
}

/** What is recorded with new members. */
export interface Joining {
  now: Date;
  /** A sign-in at this issuer adds them, and may remove them. Without it, present members no longer depend on one. */
  issuerId?: string;
  /** Null: no end. Replaces that of present members; if it is missing, these keep theirs, and others get none. */
  expiresAt?: Date | null | undefined;
  reason?: string | undefined;
}

/** Returns those that were really added and removed, and those with another end or reason. */
export async function changeMembers(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  { keeps, added, removed }: MemberChange,
  { now, issuerId, expiresAt, reason }: Joining,
): Promise<ChangedMembers> {
  const of = { account_id: scope.accountId, group_id: groupId };
  // Deleted since it was read: the request is repeated.
  tx.onConstraint('directory_member_of_user', () => problem('concurrent-change'));
  const nobody: { user_id: string; display: string }[] = [];
  const gone = keeps
    ? removed.size === 0
      ? nobody
      : tx.query(deleteMembers, { ...of, user_ids: [...removed] })
    : tx.query(deleteOthers, { ...of, user_ids: [...added] });
  const joining = {
    identity_issuer_id: issuerId ?? null,
    added_by: scope.actorId,
    now,
    expires_at: expiresAt ?? null,
    reason: reason ?? null,
    replaces_end: expiresAt !== undefined,
  };
  const come = added.size === 0 ? [] : tx.query(insertMembers, { ...of, ...joining, user_ids: [...added] });
  const [goneRows, comeRows] = await Promise.all([gone, come]);
  return {
    added: toLinks(comeRows.filter(({ is_new }) => is_new)),
    changed: toLinks(comeRows.filter(({ is_new }) => !is_new)),
    removed: toLinks(goneRows),
  };
}

const toLinks = (rows: readonly { user_id: string; display: string }[]) =>
  rows.map(({ user_id, display }): Link => [user_id, display]);

const mostEnded = 1_000;
const deleteEnded = statement(
  { parameters: { ...ofGroup, now: 'timestamptz' }, row: { ...changedRow, has_others: 'boolean' } },
  `
  with ended as (
    select m.user_id from directory_member m
    where m.account_id = $account_id and m.group_id = $group_id and m.expires_at <= $now limit ${mostEnded}
  ), removed as (
    delete from directory_member m using ended e
    where m.account_id = $account_id and m.group_id = $group_id and m.user_id = e.user_id returning m.user_id)
  select r.user_id, coalesce(u.display_name, u.user_name) as display, exists (
      select from directory_member o where o.account_id = $account_id and o.group_id = $group_id
        and not exists (select from ended e where e.user_id = o.user_id)) as has_others
  from removed r join directory_user u on u.account_id = $account_id and u.user_id = r.user_id`,
);

/** Removes up to 1,000 members whose time is over. */
export async function removeEndedMembers(tx: Transaction, scope: Scope, groupId: string, now: Date) {
  const rows = await tx.query(deleteEnded, { account_id: scope.accountId, group_id: groupId, now });
  const changed: ChangedMembers = { added: [], changed: [], removed: toLinks(rows) };
  return { changed, isEmptied: rows[0]?.has_others === false };
}

const foresee = statement(
  {
    parameters: { ...ofGroup, keeps: 'boolean', added: 'uuid[]', removed: 'uuid[]', now: 'timestamptz' },
    row: {
      changes: 'boolean',
      was_empty: 'boolean',
      will_be_empty: 'boolean',
      had_super_admin: 'boolean',
      will_have_super_admin: 'boolean',
    },
  },
  `
  with present as (
    select m.user_id from directory_member m where m.account_id = $account_id and m.group_id = $group_id and ${inEffect('m')}),
  leaving as (
    select p.user_id from present p where case when $keeps
      then exists (select from unnest($removed::uuid[]) as r (user_id) where r.user_id = p.user_id)
      else not exists (select from unnest($added::uuid[]) as a (user_id) where a.user_id = p.user_id) end),
  coming as (
    select a.user_id from unnest($added::uuid[]) as a (user_id) where not exists (select from present p where p.user_id = a.user_id)),
  super_admin as (
    select m.group_id, m.user_id from directory_role r
    join directory_member m on m.account_id = r.account_id and m.group_id = r.group_id
    join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id and u.active
    where r.account_id = $account_id and r.project_id is null and r.role = 'SUPER_ADMIN' and m.expires_at is null)
  select
    exists (select from leaving) or exists (select from coming) as changes,
    not exists (select from present) as was_empty,
    not exists (select from coming) and not exists (
      select from present p where not exists (select from leaving l where l.user_id = p.user_id)) as will_be_empty,
    exists (select from super_admin) as had_super_admin,
    exists (select from super_admin s
      where s.group_id <> $group_id or not exists (select from leaving l where l.user_id = s.user_id))
    or exists (select from coming c join directory_user u on u.account_id = $account_id and u.user_id = c.user_id and u.active)
      as will_have_super_admin`,
);

export type Forecast = Awaited<ReturnType<typeof foreseeChange>>;

/**
 * What a change of a group that gives a role leads to, before it is made. A Super Admin for a time does not count, and
 * a member whose time is over is none.
 */
export async function foreseeChange(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  { keeps, added, removed }: MemberChange,
  now: Date,
) {
  const of = { account_id: scope.accountId, group_id: groupId };
  const [found] = await tx.query(foresee, { ...of, keeps, added: [...added], removed: [...removed], now });
  if (found === undefined) throw new Error('The forecast returned no row.');
  return found;
}
