/** An account that has Super Admins among its users keeps one. */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const lockRoles = (condition: string) => `
  select r.group_id from directory_role r
  where r.account_id = $account_id and r.project_id is null and r.role = 'SUPER_ADMIN' and exists (${condition})
  order by r.group_id for update of r`;
const lockForUser = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' } },
  lockRoles(`
    select from directory_member m join directory_role o on o.account_id = m.account_id and o.group_id = m.group_id
    where m.account_id = $account_id and m.user_id = $user_id and o.project_id is null and o.role = 'SUPER_ADMIN'`),
);
const lockForGroup = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid' } },
  lockRoles(`
    select from directory_role o
    where o.account_id = $account_id and o.group_id = $group_id and o.project_id is null and o.role = 'SUPER_ADMIN'`),
);

/** Two requests that could each remove one of the last two Super Admins wait for each other. */
export function lockSuperAdminsOfUser(tx: Transaction, scope: Scope, userId: string): void {
  tx.send(lockForUser, { account_id: scope.accountId, user_id: userId });
}

export function lockSuperAdminsOfGroup(tx: Transaction, scope: Scope, groupId: string): void {
  tx.send(lockForGroup, { account_id: scope.accountId, group_id: groupId });
}

const selectOthers = statement(
  {
    parameters: { account_id: 'uuid', without_user: 'uuid?', without_group: 'uuid?' },
    row: { had_super_admin: 'boolean', will_have_super_admin: 'boolean' },
  },
  `
  with super_admin as (
    select m.group_id, m.user_id from directory_role r
    join directory_member m on m.account_id = r.account_id and m.group_id = r.group_id
    join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id and u.active
    where r.account_id = $account_id and r.project_id is null and r.role = 'SUPER_ADMIN' and m.expires_at is null)
  select exists (select from super_admin) as had_super_admin,
    exists (select from super_admin s
      where s.user_id is distinct from $without_user::uuid and s.group_id is distinct from $without_group::uuid)
      as will_have_super_admin`,
);

/**
 * Throws `last-super-admin-user` if the account would lose its last active Super Admin with this user or group. One for
 * a time does not count.
 */
export async function requireOtherSuperAdmin(
  tx: Transaction,
  scope: Scope,
  without: { userId: string } | { groupId: string },
): Promise<void> {
  const [row] = await tx.query(selectOthers, {
    account_id: scope.accountId,
    without_user: 'userId' in without ? without.userId : null,
    without_group: 'groupId' in without ? without.groupId : null,
  });
  if (row?.had_super_admin && !row.will_have_super_admin) throw problem('last-super-admin-user');
}
