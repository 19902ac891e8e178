import { addGroupMembers, listGroupMembers, listUserGroups, removeGroupMember } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { keepSuperAdminUser, presentUser } from '../users/index.ts';
import { buildGroupSubject } from './group.routes.ts';
import {
  groupById,
  groupsOfUser,
  lockGroup,
  presentGroup,
  requireConfirmed,
  userExists,
} from './group.store.ts';
import { addMembers, memberPage, recordMemberChange, removeMember } from './group-member.store.ts';

export function groupMemberRoutes({ read, write }: Endpoints): void {
  read(listGroupMembers, async ({ params: { groupId: id }, query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { group_id } = requireRow(await rows(groupById, { group_id: toUuid(id) }), () =>
      problem('group-not-found', { id }),
    );
    const { rows: some, total } = await page(memberPage, { group_id, limit, offset });
    return { body: { page: query.page, results: some.map(presentUser), size: limit, total } };
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
    const group = await lockGroup(tx, scope, params.groupId);
    const added = await addMembers(tx, scope, group.group_id, body.userIds);
    if (added.length === 0) return { body: { added: 0 }, events: [] };
    recordMemberChange(tx, scope, group.group_id, now);
    const subject = buildGroupSubject(group);
    return {
      body: { added: added.length },
      events: [{ name: 'group-members-changed', subject, after: { added } }],
    };
  });

  write(removeGroupMember, ({ tx, scope, params: { groupId, userId }, query, now }) =>
    keepSuperAdminUser(tx, scope, async () => {
      const group = await lockGroup(tx, scope, groupId);
      const { isEmpty } = await removeMember(tx, scope, group.group_id, userId);
      if (isEmpty) requireConfirmed(group, query.confirm);
      recordMemberChange(tx, scope, group.group_id, now);
      const subject = buildGroupSubject(group);
      const events: AccountEvent[] = [
        { name: 'group-members-changed', subject, after: { removed: [userId] } },
      ];
      if (isEmpty && group.gives_role)
        events.push({ name: 'role-group-emptied', subject, after: { members: 0 } });
      return { events };
    }),
  );
}
