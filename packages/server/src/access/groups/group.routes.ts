import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from '@headgate/contract';
import { requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { requireLastingSuperAdmin, resolveGrantedWord } from '../custom-roles/index.ts';
import { lockSuperAdminsOfGroup, requireOtherSuperAdmin } from '../users/index.ts';
import {
  deleteGroup as deleteRow,
  groupById,
  groupPage,
  insertGroup,
  type LockedGroup,
  lockGroup,
  presentGroup,
  renderGroupEtag,
  requireFreeName,
  type ShownGroup,
  type StoredGroup,
  updateGroup as updateRow,
} from './group.store.ts';
import { foreseeChange } from './group-member.store.ts';
import { findProject, type GrantedRole, setGrantedRole } from './group-role.store.ts';
import { checkPlace, type GroupRole, listRolesAt } from './group-role.ts';
import { judgeForecast } from './member-rules.ts';

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

  write(createGroup, async ({ tx, scope, body, now, newId }) => {
    const { columns, grantedRole } = await resolveRole(
      tx,
      { scope, now },
      {
        role: body.role ?? null,
        projectId: body.projectId ?? null,
        environmentName: body.environmentName ?? null,
      },
    );
    const row: StoredGroup = {
      group_id: newId(),
      display_name: body.displayName,
      external_id: body.externalId ?? null,
      ...columns,
      version: 1,
      created_at: now,
      updated_at: now,
    };
    await insertGroup(tx, scope, row);
    setGrantedRole(tx, scope, row.group_id, grantedRole);
    const after = presentGroup({ ...row, gives_role: grantedRole !== undefined });
    return {
      body: after,
      etag: renderGroupEtag(row),
      location: `/v1/groups/${row.group_id}`,
      events: [{ name: 'group-created', subject: buildGroupSubject(row), after }],
    };
  });

  write(updateGroup, async ({ tx, scope, params, headers, body, now }) => {
    lockSuperAdminsOfGroup(tx, scope, toUuid(params.groupId));
    const stored = await lockGroup(tx, scope, params.groupId);
    requireMatch(headers['If-Match'], renderGroupEtag(stored));
    const role = await readNewRole(tx, { scope, now }, stored, body);
    const row: ShownGroup = {
      ...stored,
      display_name: body.displayName ?? stored.display_name,
      external_id: body.externalId === undefined ? stored.external_id : body.externalId,
      ...role?.columns,
      gives_role: role === undefined ? stored.gives_role : role.grantedRole !== undefined,
      version: stored.version + 1,
      updated_at: now,
    };
    await requireFreeName(tx, scope, stored, row.display_name);
    if (role !== undefined) setGrantedRole(tx, scope, row.group_id, role.grantedRole);
    updateRow(tx, scope, row);
    const states = { before: presentGroup(stored), after: presentGroup(row) };
    return {
      body: states.after,
      etag: renderGroupEtag(row),
      events: [{ name: 'group-updated', subject: buildGroupSubject(row), ...states }],
    };
  });

  write(deleteGroup, async ({ tx, scope, params, headers, query, now }) => {
    lockSuperAdminsOfGroup(tx, scope, toUuid(params.groupId));
    const stored = await lockGroup(tx, scope, params.groupId);
    requireMatch(headers['If-Match'], renderGroupEtag(stored));
    const everyone = { keeps: false, added: new Set<string>(), removed: new Set<string>() };
    const forecast = await foreseeChange(tx, scope, stored.group_id, everyone, now);
    const isEmptied = judgeForecast(stored, forecast, query.confirm);
    deleteRow(tx, scope, stored.group_id);
    const subject = buildGroupSubject(stored);
    const events: AccountEvent[] = [{ name: 'group-deleted', subject, before: presentGroup(stored) }];
    if (isEmptied) events.unshift({ name: 'role-group-emptied', subject, after: { members: [] } });
    return { events };
  });
}

interface Caller {
  scope: Scope;
  now: Date;
}

/** Throws `unknown-role`, `unknown-project` and, at the insertion of the role, `unknown-environment`. */
async function resolveRole(tx: Transaction, { scope, now }: Caller, input: GroupRole) {
  checkPlace(input);
  const { projectId, environmentName } = input;
  const project =
    projectId === null ? undefined : await findProject(tx, scope, { id: projectId, name: undefined });
  const refuseProject = () => problem('unknown-project', { id: projectId ?? '' });
  if (projectId !== null && project === undefined) throw refuseProject();
  const place = { projectId, environmentName };
  const requested = { ...place, field: 'body.role', builtIn: listRolesAt(place) };
  const role =
    input.role === null
      ? null
      : await resolveGrantedWord(tx, { scope, now }, { ...requested, role: input.role });
  tx.onConstraint('directory_role_in_project', refuseProject);
  tx.onConstraint('directory_role_in_environment', () =>
    problem('unknown-environment', { name: environmentName ?? '' }),
  );
  const grantedRole: GrantedRole | undefined =
    role === null ? undefined : { role, projectId, environmentName };
  const columns = {
    role,
    project_id: projectId,
    project_name: project?.name ?? null,
    environment: environmentName,
  };
  return { columns, grantedRole };
}

/** The role that the request names, over the stored one; undefined if it names none. */
async function readNewRole(
  tx: Transaction,
  { scope, now }: Caller,
  stored: LockedGroup,
  { role, projectId, environmentName }: Partial<GroupRole>,
) {
  if (role === undefined && projectId === undefined && environmentName === undefined) return undefined;
  const resolved = await resolveRole(
    tx,
    { scope, now },
    {
      role: role === undefined ? stored.role : role,
      projectId: projectId === undefined ? stored.project_id : projectId,
      environmentName: environmentName === undefined ? stored.environment : environmentName,
    },
  );
  const givesSuperAdmin =
    resolved.grantedRole?.role === 'SUPER_ADMIN' && resolved.grantedRole.projectId === null;
  if (!stored.gives_super_admin && givesSuperAdmin) await requireLastingSuperAdmin(tx, { scope, now }, null);
  if (stored.gives_super_admin && !givesSuperAdmin)
    await requireOtherSuperAdmin(tx, scope, { groupId: stored.group_id });
  return resolved;
}

export function buildGroupSubject({ group_id: id, display_name: name }: StoredGroup) {
  return { type: 'group', id, name };
}
