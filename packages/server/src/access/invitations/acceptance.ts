/** What happens when a person accepts: the user, its groups and its roles come into being. */
import { statement, type Transaction, typed } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { findRequiredRoles, type Standing } from '../../kernel/security/permissions.ts';
import { isDirectoryManaged } from '../credentials/index.ts';
import { requireLastingSuperAdmin } from '../custom-roles/index.ts';
import { changeMembers, describeMemberChange, lockGroup, updateGroup } from '../groups/index.ts';
import { insertUser, presentUser, type StoredUser } from '../users/index.ts';
import { buildInvitationSubject } from './invitation.routes.ts';
import { type FoundInvitation, useInvitation } from './invitation.store.ts';

/** A sentence for the page. The invitation stays open. */
export class AcceptanceRefused extends Error {}

const { account } = findRequiredRoles('users:manage');
const selectStanding = statement(
  {
    parameters: { account_id: 'uuid', principal_id: 'uuid', now: 'timestamptz' },
    row: { standing: typed<Standing>('text') },
  },
  `
  select standing from rights($account_id::uuid, $principal_id::uuid, null, null, '${account}'::text[], '{}', '{}',
    $now::timestamptz)`,
);

/** The invitation is locked. Throws AcceptanceRefused. */
export async function acceptInvitation(
  tx: Transaction,
  invitation: FoundInvitation,
  { now, newId }: { now: Date; newId: NewId },
): Promise<{ userId: string; events: AccountEvent[] }> {
  const { account_id: accountId, created_by, user_name: userName } = invitation;
  const [[inviter], isManaged] = await Promise.all([
    tx.query(selectStanding, { account_id: accountId, principal_id: created_by, now }),
    isDirectoryManaged(tx, accountId, now),
  ]);
  if (isManaged)
    throw new AcceptanceRefused(
      'The users of the account come from its directory now. Ask an administrator to add you there.',
    );
  if (inviter?.standing !== 'permitted')
    throw new AcceptanceRefused(
      'Whoever invited you may no longer manage the users of the account. Ask for another invitation.',
    );
  const user: StoredUser = {
    user_id: newId(),
    user_name: userName,
    display_name: invitation.display_name,
    external_id: null,
    active: true,
    attributes: {},
    version: 1,
    created_at: now,
    updated_at: now,
  };
  const scope = { accountId, actorId: user.user_id };
  await insertUser(tx, scope, user).catch((failure: unknown) => {
    if (!(failure instanceof Problem)) throw failure;
    throw new AcceptanceRefused(`There is a user ${JSON.stringify(userName)} by now. Sign in as this user.`);
  });
  const events: AccountEvent[] = [];
  const { user_id: userId } = user;
  const subject = { type: 'user', id: userId, name: userName };
  events.push({ name: 'user-created', subject, after: presentUser(user) });
  // In their order, so that two people who accept never wait for each other.
  for (const groupId of invitation.group_ids) {
    const group = await lockGroup(tx, scope, groupId);
    if (group.gives_super_admin) await requireLastingInviter(tx, invitation, now);
    const change = { keeps: true, added: new Set([userId]), removed: new Set<string>() };
    const changed = await changeMembers(tx, { accountId, actorId: created_by }, groupId, change, { now });
    updateGroup(tx, scope, { ...group, version: group.version + 1, updated_at: now });
    const joined = { type: 'group', id: groupId, name: group.display_name };
    events.push({ name: 'group-members-changed', subject: joined, ...describeMemberChange(changed) });
  }
  useInvitation(tx, invitation, userId, now);
  const after = { userId, groupIds: invitation.group_ids, roles: invitation.roles, invitedBy: created_by };
  events.push({ name: 'invitation-accepted', subject: buildInvitationSubject(invitation), after });
  return { userId, events };
}

/** Throws AcceptanceRefused. */
async function requireLastingInviter(
  tx: Transaction,
  { account_id: accountId, created_by: actorId }: FoundInvitation,
  now: Date,
): Promise<void> {
  await requireLastingSuperAdmin(tx, { scope: { accountId, actorId }, now }, null).catch(
    (failure: unknown) => {
      if (!(failure instanceof Problem)) throw failure;
      throw new AcceptanceRefused(
        'Whoever invited you is a Super Admin only for a time now. Ask for another invitation.',
      );
    },
  );
}
