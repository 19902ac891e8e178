/** An account that has Super Admins among its users keeps one (decisions.md, E25). */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

// Two concurrent requests could remove the last two. Requests of SCIM take the same lock.
const lockSuperAdmins = statement(
  { parameters: { account_id: 'uuid' } },
  "select from pg_advisory_xact_lock(hashtextextended('super admins ' || $account_id::uuid::text, 0))",
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
  tx.send(lockSuperAdmins, { account_id: accountId });
  const had = await isFound();
  const result = await change();
  if (had && !(await isFound())) throw problem('last-super-admin-user');
  return result;
}
