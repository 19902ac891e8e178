/** An account that has Super Admins among its users keeps one (decisions.md, E25). */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

// Locked, so that two concurrent requests cannot remove the last two. Requests of SCIM lock the same rows.
const lockRoles = statement(
  { parameters: { account_id: 'uuid' }, row: { group_id: 'uuid' } },
  `
  select group_id from directory_role
  where account_id = $account_id and project_id is null and role = 'SUPER_ADMIN'
  order by group_id for update`,
);
const selectOne = statement(
  { parameters: { account_id: 'uuid' }, row: { user_id: 'uuid' } },
  `
  select u.user_id from directory_role r
  join directory_member m on m.account_id = r.account_id and m.group_id = r.group_id
  join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id and u.active
  where r.account_id = $account_id and r.project_id is null and r.role = 'SUPER_ADMIN'
  limit 1`,
);

/** Makes a change. Throws `last-super-admin-user` if it takes the role from the last active user that has it. */
export async function keepSuperAdminUser<Result>(
  tx: Transaction,
  { accountId }: Scope,
  change: () => Promise<Result> | Result,
): Promise<Result> {
  const isFound = async () => (await tx.query(selectOne, { account_id: accountId })).length > 0;
  const roles = await tx.query(lockRoles, { account_id: accountId });
  const had = roles.length > 0 && (await isFound());
  const result = await change();
  if (had && !(await isFound())) throw problem('last-super-admin-user');
  return result;
}
