/** The table `directory_member`, changed by sets. */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { userColumns, userRow } from '../users/index.ts';

export const memberPage = guardedPage(
  { parameters: { group_id: 'uuid', limit: 'bigint', offset: 'bigint' }, row: userRow },
  {
    rows: `
    select ${userColumns} from directory_user
    where account_id = $account_id and user_id in (
      select m.user_id from directory_member m where m.account_id = $account_id and m.group_id = $group_id)
    order by user_name_key limit $limit offset $offset`,
    total: `
    select count(*)::bigint as total from directory_member
    where account_id = $account_id and group_id = $group_id`,
  },
);

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
  { parameters: { ...ofGroup, user_ids: 'uuid[]', identity_issuer_id: 'uuid?' }, row: changedRow },
  `
  with retained as (
    update directory_member m set identity_issuer_id = null
    where m.account_id = $account_id and m.group_id = $group_id and m.user_id = any ($user_ids::uuid[])
      and m.identity_issuer_id is not null and $identity_issuer_id::uuid is null),
  added as (
    insert into directory_member (account_id, group_id, user_id, identity_issuer_id)
    select $account_id, $group_id, wanted.user_id, $identity_issuer_id from unnest($user_ids::uuid[]) as wanted (user_id)
    on conflict do nothing returning user_id)
  select a.user_id, coalesce(u.display_name, u.user_name) as display
  from added a join directory_user u on u.account_id = $account_id and u.user_id = a.user_id`,
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
  removed: Link[];
}

/**
 * Returns those that were really added and removed. With an issuer, a sign-in there adds them, and may remove them
 * again; adding a member without one makes the membership independent of issuers.
 */
export async function changeMembers(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  { keeps, added, removed }: MemberChange,
  issuerId: string | null = null,
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
  const come =
    added.size === 0
      ? nobody
      : tx.query(insertMembers, { ...of, user_ids: [...added], identity_issuer_id: issuerId });
  const toLinks = (rows: readonly { user_id: string; display: string }[]) =>
    rows.map(({ user_id, display }): Link => [user_id, display]);
  const [goneRows, comeRows] = await Promise.all([gone, come]);
  return { added: toLinks(comeRows), removed: toLinks(goneRows) };
}

const foresee = statement(
  {
    parameters: { ...ofGroup, keeps: 'boolean', added: 'uuid[]', removed: 'uuid[]' },
    row: {
      changes: 'boolean',
      was_empty: 'boolean',
      will_be_empty: 'boolean',
      had_super_admin: 'boolean',
      will_have_super_admin: 'boolean',
    },
  },
  `
  with present as (select m.user_id from directory_member m where m.account_id = $account_id and m.group_id = $group_id),
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
    where r.account_id = $account_id and r.project_id is null and r.role = 'SUPER_ADMIN')
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

/** What a change of a group that gives a role leads to, before it is made. */
export async function foreseeChange(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  { keeps, added, removed }: MemberChange,
) {
  const of = { account_id: scope.accountId, group_id: groupId };
  const [found] = await tx.query(foresee, { ...of, keeps, added: [...added], removed: [...removed] });
  if (found === undefined) throw new Error('The forecast returned no row.');
  return found;
}
