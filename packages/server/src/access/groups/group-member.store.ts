/** The table `directory_member`. */
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

// The share lock keeps the users until the commit.
const selectUsers = statement(
  { parameters: { account_id: 'uuid', user_ids: 'uuid[]' }, row: { user_id: 'uuid' } },
  `
  select user_id from directory_user where account_id = $account_id and user_id = any ($user_ids::uuid[])
  order by user_id for key share`,
);
const insertMembers = statement(
  {
    parameters: { account_id: 'uuid', group_id: 'uuid', user_ids: 'uuid[]' },
    row: { user_id: 'uuid' },
  },
  `
  insert into directory_member (account_id, group_id, user_id)
  select $account_id, $group_id, id from unnest($user_ids::uuid[]) id
  on conflict do nothing
  returning user_id`,
);

/** Returns the users that were not members before. Throws `unknown-user`. */
export async function addMembers(
  tx: Transaction,
  { accountId }: Scope,
  groupId: string,
  given: readonly string[],
): Promise<string[]> {
  const ids = [...new Set(given.map((id) => id.toLowerCase()))].toSorted();
  const users = await tx.query(selectUsers, { account_id: accountId, user_ids: ids.filter(isUuid) });
  const known = new Set(users.map((user) => user.user_id));
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0) throw problem('unknown-user', { ids: unknown.slice(0, 10) });
  const added = await tx.query(insertMembers, { account_id: accountId, group_id: groupId, user_ids: ids });
  return added.map((member) => member.user_id);
}

const deleteMember = statement(
  {
    parameters: { account_id: 'uuid', group_id: 'uuid', user_id: 'uuid' },
    row: { is_empty: 'boolean' },
  },
  `
  delete from directory_member where account_id = $account_id and group_id = $group_id and user_id = $user_id
  returning not exists (
    select from directory_member m
    where m.account_id = $account_id and m.group_id = $group_id and m.user_id <> $user_id) as is_empty`,
);

/** Returns whether the group is empty now. Throws `group-member-not-found`. */
export async function removeMember(
  tx: Transaction,
  { accountId }: Scope,
  groupId: string,
  id: string,
): Promise<{ isEmpty: boolean }> {
  const where = { account_id: accountId, group_id: groupId };
  const [removed] = isUuid(id) ? await tx.query(deleteMember, { ...where, user_id: id }) : [];
  if (removed === undefined) throw problem('group-member-not-found', { id });
  return { isEmpty: removed.is_empty };
}

const touchGroup = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid', updated_at: 'timestamptz' } },
  `
  update directory_group set version = version + 1, updated_at = $updated_at
  where account_id = $account_id and group_id = $group_id`,
);

/** The members are part of the group in SCIM, so its ETag changes with them. */
export function recordMemberChange(tx: Transaction, { accountId }: Scope, groupId: string, now: Date): void {
  tx.send(touchGroup, { account_id: accountId, group_id: groupId, updated_at: now });
}
