/** Creates, changes and deletes groups. Each checks everything before its first change. */
import type { AccountEvent } from '../../../kernel/database/events.ts';
import { requireMatch } from '../../../kernel/http/if-match.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import { requireLastingSuperAdmin } from '../../custom-roles/index.ts';
import {
  type ChangedMembers,
  changeMembers,
  deleteGroup as deleteRow,
  describeMemberChange,
  findUnknownUsers,
  foreseeChange,
  insertGroup,
  judgeForecast,
  type LockedGroup,
  listForEvent,
  lockGroup,
  type MemberChange,
  requireFreeName,
  type StoredGroup,
  setGrantedRole,
  updateGroup,
} from '../../groups/index.ts';
import { lockSuperAdminsOfGroup, requireOtherSuperAdmin } from '../../users/index.ts';
import { foldSteps, readMemberIds } from '../patch/member-change.ts';
import { applyPatch } from '../patch/scim-patch.ts';
import { groupSchema } from '../schema/group-schema.ts';
import { isReturned, projectResource } from '../schema/scim-projection.ts';
import { readResource, requireText } from '../schema/scim-resource.ts';
import { createValueProblem, type Fields, type Resource } from '../schema/scim-value.ts';
import { findMatchingMembers } from '../search/matching-members.store.ts';
import { requireGroup } from '../search/scim-group.store.ts';
import { presentGroup, renderGroupTag } from '../search/scim-present.ts';
import { type DirectoryWrite, describeWrite, type Written } from './directory-write.ts';
import { type RoleColumns, resolveRole } from './group-role.ts';
import { readShortText } from './user.write.ts';

const nameLimit = 512;
const noChange: MemberChange = { keeps: true, added: new Set(), removed: new Set() };
const noRole: RoleColumns = { role: null, project_id: null, project_name: null, environment: null };

export async function createGroup(write: DirectoryWrite, body: Fields): Promise<Written> {
  const { tx, scope, now } = write;
  const resource = readResource(groupSchema, body);
  const change = { ...noChange, added: new Set(readMemberIds(resource.members ?? [])) };
  const { columns, role: grantedRole } = await resolveRole(write, resource);
  if (!isSameRole(columns, noRole)) await requireRoleRight(write);
  await requireUsers(write, change.added);
  const group: StoredGroup = {
    group_id: write.id ?? write.newId(),
    display_name: requireText(resource, 'displayName', nameLimit),
    external_id: readShortText('externalId', resource.externalId),
    ...columns,
    ...{ version: 1, created_at: now, updated_at: now },
  };
  await insertGroup(tx, scope, group);
  if (grantedRole !== undefined) setGrantedRole(tx, scope, group.group_id, grantedRole);
  if (grantedRole?.role === 'SUPER_ADMIN' && change.added.size > 0)
    await requireLastingSuperAdmin(tx, write, null);
  const changed = await changeMembers(tx, scope, group.group_id, change, { now });
  const after = { ...summarize(group), ...(changed.added.length > 0 ? listForEvent(changed.added) : {}) };
  return finish(write, group, changed, {
    status: 201,
    events: [buildGroupEvent('group-created', group, { after })],
  });
}

export async function replaceGroup(write: DirectoryWrite, id: string, body: Fields): Promise<Written> {
  const stored = await lock(write, id);
  const input = readResource(groupSchema, body);
  const storedRole: Resource = {};
  // What the group gives stays unless the body names it: directories do not know it.
  for (const [name, value] of Object.entries(toResource(stored)))
    if (['role', 'projectId', 'projectName', 'environment'].includes(name) && input[name] === undefined)
      storedRole[name] = value;
  if (input.projectId !== undefined || input.projectName !== undefined) {
    if (input.projectId === undefined) delete storedRole.projectId;
    if (input.projectName === undefined) delete storedRole.projectName;
  }
  const added = new Set(readMemberIds(input.members ?? []));
  return changeGroup(write, stored, { ...storedRole, ...input }, { keeps: false, added, removed: new Set() });
}

export async function patchGroup(write: DirectoryWrite, id: string, body: Fields): Promise<Written> {
  const stored = await lock(write, id);
  const before = toResource(stored);
  const { resource, members } = applyPatch(groupSchema, before, body);
  // The id of the project wins over its name, so a change of only the name must drop the id.
  if (resource.projectName !== before.projectName && resource.projectId === before.projectId)
    delete resource.projectId;
  else if (resource.projectId !== before.projectId && resource.projectName === before.projectName)
    delete resource.projectName;
  const change = await foldSteps(members, (filter) =>
    findMatchingMembers(write.tx, write.scope, stored.group_id, filter),
  );
  return changeGroup(write, stored, resource, change);
}

export async function deleteGroup(write: DirectoryWrite, id: string): Promise<Written> {
  const { tx, scope, now } = write;
  const stored = await lock(write, id);
  if (stored.gives_super_admin && !(await write.isSuperAdmin))
    throw problem('directory-limit', { reason: 'cannot delete a group that gives SUPER_ADMIN' });
  const everyone: MemberChange = { keeps: false, added: new Set(), removed: new Set() };
  if (stored.gives_role)
    judgeForecast(stored, await foreseeChange(tx, scope, stored.group_id, everyone, now), write.isConfirmed);
  const { removed } = await changeMembers(tx, scope, stored.group_id, everyone, { now });
  deleteRow(tx, scope, stored.group_id);
  const before = { ...summarize(stored), ...(removed.length > 0 ? listForEvent(removed) : {}) };
  const group = [stored.group_id, stored.display_name] as const;
  return describeWrite(204, stored.group_id, {
    events: [buildGroupEvent('group-deleted', stored, { before })],
    removed: removed.map((user) => ({ group, user })),
    users: stored.gives_role ? removed.map(([userId]) => userId) : [],
  });
}

async function lock({ tx, scope, ifMatch }: DirectoryWrite, id: string): Promise<LockedGroup> {
  lockSuperAdminsOfGroup(tx, scope, toUuid(id));
  const stored = await lockGroup(tx, scope, id);
  requireMatch(ifMatch, renderGroupTag(stored));
  return stored;
}

async function changeGroup(
  write: DirectoryWrite,
  stored: LockedGroup,
  resource: Resource,
  change: MemberChange,
): Promise<Written> {
  const { tx, scope, now } = write;
  const role = await readNewRole(write, stored, resource);
  const after: StoredGroup = {
    ...stored,
    display_name: requireText(resource, 'displayName', nameLimit),
    external_id: readShortText('externalId', resource.externalId),
    ...role?.columns,
  };
  await requireFreeName(tx, scope, stored, after.display_name);
  await requireUsers(write, change.added);
  const isEmptied = await judgeChange(write, stored, change);
  const changed = await changeMembers(tx, scope, stored.group_id, change, { now });
  if (role !== undefined) setGrantedRole(tx, scope, stored.group_id, role.role);
  const events: AccountEvent[] = [];
  const isSame = JSON.stringify(summarize(stored)) === JSON.stringify(summarize(after));
  const hasNewMembers = changed.added.length + changed.removed.length > 0;
  if (!isSame || hasNewMembers) {
    Object.assign(after, { version: stored.version + 1, updated_at: now });
    updateGroup(tx, scope, after);
  }
  if (!isSame) {
    const states = { before: summarize(stored), after: summarize(after) };
    events.push(buildGroupEvent('group-updated', after, states));
  }
  if (hasNewMembers) {
    events.push(buildGroupEvent('group-members-changed', after, describeMemberChange(changed)));
  }
  if (isEmptied) events.push(buildGroupEvent('role-group-emptied', after, { after: { members: [] } }));
  return finish(write, after, changed, {
    status: 200,
    events,
    groups: role === undefined ? [] : [after.group_id],
  });
}

/** The new role, project and environment; undefined if they stay. Throws `directory-limit`. */
async function readNewRole(write: DirectoryWrite, stored: LockedGroup, resource: Resource) {
  const before = toResource(stored);
  const names = ['role', 'projectId', 'projectName', 'environment'];
  const isSame = (name: string) => {
    const [one, other] = [before[name], resource[name] ?? undefined];
    return one === other || (name === 'role' && String(one).toLowerCase() === String(other).toLowerCase());
  };
  if (names.every(isSame)) return undefined;
  const role = await resolveRole(write, resource);
  const isUnchanged = isSameRole(role.columns, stored) && (role.role !== undefined) === stored.gives_role;
  if (isUnchanged) return undefined;
  await requireRoleRight(write);
  const givesSuperAdmin = role.role?.role === 'SUPER_ADMIN' && role.role.projectId === null;
  if (!stored.gives_super_admin && givesSuperAdmin) await requireLastingSuperAdmin(write.tx, write, null);
  if (stored.gives_super_admin && !givesSuperAdmin)
    await requireOtherSuperAdmin(write.tx, write.scope, { groupId: stored.group_id });
  return role;
}

/** Whether the change empties a group that gives a role. Throws what refuses it. */
async function judgeChange(
  write: DirectoryWrite,
  stored: LockedGroup,
  change: MemberChange,
): Promise<boolean> {
  const isNothing = change.keeps && change.added.size === 0 && change.removed.size === 0;
  if (!stored.gives_role || isNothing) return false;
  const forecast = await foreseeChange(write.tx, write.scope, stored.group_id, change, write.now);
  if (!forecast.changes) return false;
  if (stored.gives_super_admin && !(await write.isSuperAdmin))
    throw problem('directory-limit', {
      reason: 'cannot change the members of a group that gives SUPER_ADMIN',
    });
  if (stored.gives_super_admin && change.added.size > 0)
    await requireLastingSuperAdmin(write.tx, write, null);
  return judgeForecast(stored, forecast, write.isConfirmed);
}

async function requireRoleRight({ isSuperAdmin }: DirectoryWrite): Promise<void> {
  if (!(await isSuperAdmin))
    throw problem('directory-limit', {
      reason: 'cannot set role, projectId, projectName or environment of a group',
    });
}

/** Throws `invalid-attribute-value` for the id of no user. */
async function requireUsers({ tx, scope }: DirectoryWrite, ids: ReadonlySet<string>): Promise<void> {
  const [unknown] = await findUnknownUsers(tx, scope, ids);
  if (unknown !== undefined)
    throw createValueProblem(
      `There is no user ${JSON.stringify(unknown.slice(0, 200))}; it cannot be a member.`,
    );
}

async function finish(
  write: DirectoryWrite,
  group: StoredGroup,
  { added, removed }: ChangedMembers,
  done: { status: 200 | 201; events: AccountEvent[]; groups?: string[] },
): Promise<Written> {
  const { tx, scope, base, projection } = write;
  const row = await requireGroup(tx, scope, group.group_id, isReturned(projection, 'members'));
  const link = [group.group_id, group.display_name] as const;
  return describeWrite(done.status, group.group_id, {
    ...done,
    resource: projectResource(projection, presentGroup(base, scope.accountId, row)),
    etag: renderGroupTag(row),
    added: added.map((user) => ({ group: link, user })),
    removed: removed.map((user) => ({ group: link, user })),
    users: [...added, ...removed].map(([userId]) => userId),
  });
}

/** The attributes that a client may write, without the members. */
function toResource(group: StoredGroup): Resource {
  const resource: Resource = { displayName: group.display_name };
  if (group.external_id !== null) resource.externalId = group.external_id;
  if (group.role !== null) resource.role = group.role;
  if (group.project_id !== null) resource.projectId = group.project_id;
  if (group.project_name !== null) resource.projectName = group.project_name;
  if (group.environment !== null) resource.environment = group.environment;
  return resource;
}

function isSameRole(one: RoleColumns, other: RoleColumns): boolean {
  return (['role', 'project_id', 'project_name', 'environment'] as const).every(
    (name) => one[name] === other[name],
  );
}

const summarize = toResource;

function buildGroupEvent(
  name: AccountEvent['name'],
  group: StoredGroup,
  states: { before?: object; after?: object },
): AccountEvent {
  return { name, subject: { type: 'group', id: group.group_id, name: group.display_name }, ...states };
}
