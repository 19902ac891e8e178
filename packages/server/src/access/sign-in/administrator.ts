/**
 * The user as whom the operator signs in by the link that the server prints: a Super Admin. It is created when the link
 * is used for the first time.
 */
import { type ColumnTypes, type RowOf, statement, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { inEffect } from '../../kernel/security/guarded-read.ts';
import {
  changeMembers,
  describeMemberChange,
  insertGroup,
  type StoredGroup,
  setGrantedRole,
} from '../groups/index.ts';
import { foldName, insertUser, presentUser, type StoredUser } from '../users/index.ts';

export const administratorName = 'administrator';
const groupName = 'Administrators of this installation';

const foundUser = {
  user_id: 'uuid',
  user_name: 'text',
  active: 'boolean',
  is_super_admin: 'boolean',
} satisfies ColumnTypes;
type FoundUser = RowOf<typeof foundUser>;

const selectUser = statement(
  { parameters: { account_id: 'uuid', user_name_key: 'text', now: 'timestamptz' }, row: foundUser },
  `
  select u.user_id, u.user_name, u.active, exists (
      select from directory_member m
      join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
      where m.account_id = u.account_id and m.user_id = u.user_id and r.project_id is null and r.role = 'SUPER_ADMIN'
        and ${inEffect('m')})
    as is_super_admin
  from directory_user u where u.account_id = $account_id and u.user_name_key = $user_name_key for update`,
);
const selectGroup = statement(
  { parameters: { account_id: 'uuid', display_name_key: 'text' }, row: { group_id: 'uuid' } },
  `
  select g.group_id from directory_group g
  join directory_role r on r.account_id = g.account_id and r.group_id = g.group_id
  where g.account_id = $account_id and g.display_name_key = $display_name_key
    and r.project_id is null and r.role = 'SUPER_ADMIN'`,
);

export interface Administrator {
  user_id: string;
  user_name: string;
  active: boolean;
  events: AccountEvent[];
}

/**
 * Undefined: a user of the name is deactivated, or has lost the role. It is not given to it again: the user may be
 * somebody else. Throws `group-name-taken` if a group has the name.
 */
export async function ensureAdministrator(
  tx: Transaction,
  accountId: string,
  { now, newId }: { now: Date; newId: NewId },
): Promise<Administrator | undefined> {
  const events: AccountEvent[] = [];
  const [found] = await tx.query(selectUser, {
    account_id: accountId,
    user_name_key: foldName(administratorName),
    now,
  });
  if (found !== undefined) return found.active && found.is_super_admin ? { ...found, events } : undefined;
  const user = await createUser(tx, accountId, { now, newId }, events);
  await joinGroup(tx, accountId, user, { now, newId }, events);
  const { user_id, user_name, active } = user;
  return { user_id, user_name, active, events };
}

async function createUser(
  tx: Transaction,
  accountId: string,
  { now, newId }: { now: Date; newId: NewId },
  events: AccountEvent[],
): Promise<FoundUser> {
  const row: StoredUser = {
    user_id: newId(),
    user_name: administratorName,
    display_name: 'Administrator',
    external_id: null,
    active: true,
    attributes: {},
    version: 1,
    created_at: now,
    updated_at: now,
  };
  await insertUser(tx, { accountId, actorId: row.user_id }, row);
  const subject = { type: 'user', id: row.user_id, name: row.user_name };
  events.push({ name: 'user-created', subject, after: presentUser(row) });
  return { ...row, is_super_admin: false };
}

async function joinGroup(
  tx: Transaction,
  accountId: string,
  { user_id: userId }: FoundUser,
  { now, newId }: { now: Date; newId: NewId },
  events: AccountEvent[],
): Promise<void> {
  const scope = { accountId, actorId: userId };
  const [found] = await tx.query(selectGroup, {
    account_id: accountId,
    display_name_key: foldName(groupName),
  });
  const groupId = found?.group_id ?? newId();
  const subject = { type: 'group', id: groupId, name: groupName };
  if (found === undefined) {
    const group: StoredGroup = {
      group_id: groupId,
      display_name: groupName,
      external_id: null,
      role: 'SUPER_ADMIN',
      project_id: null,
      project_name: null,
      environment: null,
      version: 1,
      created_at: now,
      updated_at: now,
    };
    await insertGroup(tx, scope, group);
    setGrantedRole(tx, scope, groupId, { projectId: null, environmentName: null, role: 'SUPER_ADMIN' });
    events.push({ name: 'group-created', subject, after: { displayName: groupName, role: 'SUPER_ADMIN' } });
  }
  const change = { keeps: true, added: new Set([userId]), removed: new Set<string>() };
  const changed = await changeMembers(tx, scope, groupId, change, { now });
  events.push({ name: 'group-members-changed', subject, ...describeMemberChange(changed) });
}
