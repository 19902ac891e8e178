/** The roles that users have by their groups, for `?dryRun=true`. */
import { type Read, type RowOf, statement } from '../../../kernel/database/database.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';

const roleRow = {
  user_id: 'uuid',
  display: 'text',
  role: 'text',
  project_id: 'uuid?',
  environment_name: 'text?',
} as const;
export type HeldRole = RowOf<typeof roleRow>;

const selectRoles = statement(
  { parameters: { account_id: 'uuid', user_ids: 'uuid[]' }, row: roleRow },
  `
  select distinct m.user_id, coalesce(u.display_name, u.user_name) as display, r.role, r.project_id, r.environment_name
  from unnest($user_ids::uuid[]) as asked (user_id)
  join directory_user u on u.account_id = $account_id and u.user_id = asked.user_id and u.active
  join directory_member m on m.account_id = u.account_id and m.user_id = u.user_id
  join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
  order by m.user_id, r.role, r.project_id, r.environment_name`,
);

export function listHeldRoles(read: Read, scope: Scope, userIds: readonly string[]): Promise<HeldRole[]> {
  if (userIds.length === 0) return Promise.resolve([]);
  return read(selectRoles, { account_id: scope.accountId, user_ids: userIds });
}

const selectMembers = statement(
  { parameters: { account_id: 'uuid', group_ids: 'uuid[]' }, row: { user_id: 'uuid' } },
  `
  select distinct m.user_id from unnest($group_ids::uuid[]) as asked (group_id)
  join directory_member m on m.account_id = $account_id and m.group_id = asked.group_id`,
);

export async function listMembers(read: Read, scope: Scope, groupIds: readonly string[]): Promise<string[]> {
  if (groupIds.length === 0) return [];
  const found = await read(selectMembers, { account_id: scope.accountId, group_ids: groupIds });
  return found.map(({ user_id }) => user_id);
}
