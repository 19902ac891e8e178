import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { keepSuperAdminUser } from '../users/index.ts';
import {
  deleteGroupRow,
  type GroupRow,
  groupById,
  groupPage,
  insertGroup,
  lockGroup,
  presentGroup,
  renderGroupEtag,
  replaceGroupRole,
  requireConfirmed,
  type ShownGroup,
  updateGroupRow,
} from './group.store.ts';
import { readGroupRole } from './group-role.ts';

export function groupRoutes({ read, write }: Endpoints): void {
  read(listGroups, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(groupPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentGroup), size: limit, total } };
  });

  read(getGroup, async ({ params: { groupId: id }, rows }) => {
    const row = requireRow(await rows(groupById, { group_id: toUuid(id) }), () =>
      problem('group-not-found', { id }),
    );
    return { body: presentGroup(row), etag: renderGroupEtag(row) };
  });

  write(createGroup, ({ tx, scope, body, now, newId }) => {
    const { role, projectId, environmentName } = readGroupRole({
      role: body.role ?? null,
      projectId: body.projectId ?? null,
      environmentName: body.environmentName ?? null,
    });
    const row: GroupRow = {
      group_id: newId(),
      display_name: body.displayName,
      external_id: body.externalId ?? null,
      role,
      project_id: projectId,
      environment: environmentName,
      version: 1,
      created_at: now,
      updated_at: now,
    };
    insertGroup(tx, scope, row);
    const after = presentGroup({ ...row, gives_role: role !== null });
    return {
      body: after,
      etag: renderGroupEtag(row),
      location: `/v1/groups/${row.group_id}`,
      events: [{ name: 'group-created', subject: buildGroupSubject(row), after }],
    };
  });

  write(updateGroup, async ({ tx, scope, params, headers, body, now }) => {
    const isRoleGiven = [body.role, body.projectId, body.environmentName].some((each) => each !== undefined);
    const change = async () => {
      const stored = await lockGroup(tx, scope, params.groupId);
      requireMatch(headers['If-Match'], renderGroupEtag(stored));
      const row: ShownGroup = {
        group_id: stored.group_id,
        display_name: body.displayName ?? stored.display_name,
        external_id: body.externalId === undefined ? stored.external_id : body.externalId,
        role: stored.role,
        project_id: stored.project_id,
        environment: stored.environment,
        gives_role: stored.gives_role,
        version: stored.version + 1,
        created_at: stored.created_at,
        updated_at: now,
      };
      if (isRoleGiven) Object.assign(row, mergeRole(stored, body));
      updateGroupRow(tx, scope, row);
      if (isRoleGiven) replaceGroupRole(tx, scope, row);
      return { stored, row };
    };
    const { stored, row } = isRoleGiven ? await keepSuperAdminUser(tx, scope, change) : await change();
    const states = { before: presentGroup(stored), after: presentGroup(row) };
    return {
      body: states.after,
      etag: renderGroupEtag(row),
      events: [{ name: 'group-updated', subject: buildGroupSubject(row), ...states }],
    };
  });

  write(deleteGroup, ({ tx, scope, params, headers, query }) =>
    keepSuperAdminUser(tx, scope, async () => {
      const stored = await lockGroup(tx, scope, params.groupId);
      requireMatch(headers['If-Match'], renderGroupEtag(stored));
      if (stored.has_members) requireConfirmed(stored, query.confirm);
      deleteGroupRow(tx, scope, stored.group_id);
      const subject = buildGroupSubject(stored);
      const events: AccountEvent[] = [{ name: 'group-deleted', subject, before: presentGroup(stored) }];
      if (stored.has_members && stored.gives_role)
        events.unshift({ name: 'role-group-emptied', subject, after: { members: 0 } });
      return { events };
    }),
  );
}

interface WantedRole {
  role?: string | null;
  projectId?: string | null;
  environmentName?: string | null;
}

/** The members of the request over the stored ones. */
function mergeRole(stored: GroupRow, wanted: WantedRole) {
  const { role, projectId, environmentName } = readGroupRole({
    role: wanted.role === undefined ? stored.role : wanted.role,
    projectId: wanted.projectId === undefined ? stored.project_id : wanted.projectId,
    environmentName: wanted.environmentName === undefined ? stored.environment : wanted.environmentName,
  });
  return { role, project_id: projectId, environment: environmentName, gives_role: role !== null };
}

export function buildGroupSubject({ group_id: id, display_name: name }: GroupRow) {
  return { type: 'group', id, name };
}
