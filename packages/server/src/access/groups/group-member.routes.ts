import { addGroupMembers, listGroupMembers, listUserGroups, removeGroupMember } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { requireLastingSuperAdmin } from '../custom-roles/index.ts';
import { lockSuperAdminsOfGroup } from '../users/index.ts';
import { buildGroupSubject } from './group.routes.ts';
import { groupById, groupsOfUser, lockGroup, presentGroup, updateGroup, userExists } from './group.store.ts';
import {
  changeMembers,
  findUnknownUsers,
  foreseeChange,
  type MemberChange,
  memberPage,
  presentMember,
} from './group-member.store.ts';
import { describeMemberChange, judgeForecast } from './member-rules.ts';

export function groupMemberRoutes({ read, write }: Endpoints): void {
  read(listGroupMembers, async ({ params: { groupId: id }, query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { group_id } = requireRow(await rows(groupById, { group_id: toUuid(id) }), () =>
      problem('group-not-found', { id }),
    );
    const { rows: some, total } = await page(memberPage, { group_id, limit, offset });
    return { body: { page: query.page, results: some.map(presentMember), size: limit, total } };
  });

  read(listUserGroups, async ({ params: { userId: id }, query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { user_id } = requireRow(await rows(userExists, { user_id: toUuid(id) }), () =>
      problem('user-not-found', { id }),
    );
    const { rows: some, total } = await page(groupsOfUser, { user_id, limit, offset });
    return { body: { page: query.page, results: some.map(presentGroup), size: limit, total } };
  });

  write(addGroupMembers, async ({ tx, scope, params, body, now }) => {
    const { reason } = body;
    const expiresAt = typeof body.expiresAt === 'string' ? new Date(body.expiresAt) : body.expiresAt;
    if (expiresAt instanceof Date && expiresAt <= now) throw problem('expiry-in-the-past');
    if (expiresAt instanceof Date) lockSuperAdminsOfGroup(tx, scope, toUuid(params.groupId));
    const group = await lockGroup(tx, scope, params.groupId);
    const userIds = new Set(body.userIds.map((id) => id.toLowerCase()));
    const ids = await findUnknownUsers(tx, scope, userIds);
    if (ids.length > 0) throw problem('unknown-user', { ids });
    const change: MemberChange = { keeps: true, added: userIds, removed: new Set() };
    if (group.gives_super_admin) await requireLastingSuperAdmin(tx, { scope, now }, expiresAt ?? null);
    // A Super Admin for a time does not count as the last one.
    const ending: MemberChange = { keeps: true, added: new Set(), removed: userIds };
    if (group.gives_super_admin && expiresAt instanceof Date)
      judgeForecast(group, await foreseeChange(tx, scope, group.group_id, ending, now), true);
    const joining = { now, expiresAt, reason };
    const changed = await changeMembers(tx, scope, group.group_id, change, joining);
    const counts = { added: changed.added.length, changed: changed.changed.length };
    if (counts.added + counts.changed === 0) return { body: counts, events: [] };
    updateGroup(tx, scope, { ...group, version: group.version + 1, updated_at: now });
    const subject = buildGroupSubject(group);
    const states = describeMemberChange(changed, joining);
    return { body: counts, events: [{ name: 'group-members-changed', subject, ...states }] };
  });

  write(removeGroupMember, async ({ tx, scope, params: { groupId, userId }, query, now }) => {
    lockSuperAdminsOfGroup(tx, scope, toUuid(groupId));
    const group = await lockGroup(tx, scope, groupId);
    const change: MemberChange = { keeps: true, added: new Set(), removed: new Set([toUuid(userId)]) };
    const forecast = await foreseeChange(tx, scope, group.group_id, change, now);
    const isEmptied = judgeForecast(group, forecast, query.confirm);
    const changed = await changeMembers(tx, scope, group.group_id, change, { now });
    if (changed.removed.length === 0) throw problem('group-member-not-found', { id: userId });
    updateGroup(tx, scope, { ...group, version: group.version + 1, updated_at: now });
    const subject = buildGroupSubject(group);
    const states = describeMemberChange(changed);
    const events: AccountEvent[] = [{ name: 'group-members-changed', subject, ...states }];
    if (isEmptied) events.push({ name: 'role-group-emptied', subject, after: { members: [] } });
    return { events };
  });
}
