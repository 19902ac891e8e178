/** The deletion of a user, by SCIM and by /v1/users. */
import type { Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { requireOtherSuperAdmin } from './super-admin.store.ts';
import { deleteUser, type LockedUser } from './user.store.ts';

/**
 * Returns the groups that the user was in, and an event for each that gives a role and has no members now.
 * Throws `last-super-admin-user`.
 */
export async function removeUser(tx: Transaction, scope: Scope, user: LockedUser, now: Date) {
  await requireOtherIfSuperAdmin(tx, scope, user);
  const left = await deleteUser(tx, scope, user.user_id, now);
  const emptied = left.filter((group) => group.gives_role && group.is_emptied);
  const events = emptied.map(
    (group): AccountEvent => ({
      name: 'role-group-emptied',
      subject: { type: 'group', id: group.group_id, name: group.display_name },
      after: { members: [] },
    }),
  );
  return { left, events };
}

/** For a change after which the user is no active Super Admin. Throws `last-super-admin-user`. */
export async function requireOtherIfSuperAdmin(
  tx: Transaction,
  scope: Scope,
  { user_id: userId, active, is_super_admin: isSuperAdmin }: LockedUser,
): Promise<void> {
  if (active && isSuperAdmin) await requireOtherSuperAdmin(tx, scope, { userId });
}
