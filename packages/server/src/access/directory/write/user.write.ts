/** Creates, changes and deletes users. Each checks everything before its first change. */
import type { AccountEvent } from '../../../kernel/database/events.ts';
import { requireMatch } from '../../../kernel/http/if-match.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import { requireLastingSuperAdmin } from '../../custom-roles/index.ts';
import {
  insertUser,
  type LockedUser,
  lockSuperAdminsOfUser,
  lockUser,
  removeUser,
  requireOtherIfSuperAdmin,
  type StoredUser,
  updateUser,
} from '../../users/index.ts';
import { applyPatch } from '../patch/scim-patch.ts';
import { isReturned, projectResource } from '../schema/scim-projection.ts';
import { readResource, requireText } from '../schema/scim-resource.ts';
import { createValueProblem, type Fields, type Resource } from '../schema/scim-value.ts';
import { userSchema } from '../schema/user-schema.ts';
import { presentUser, renderUserTag } from '../search/scim-present.ts';
import { requireUser } from '../search/scim-user.store.ts';
import { type DirectoryWrite, describeWrite, type Written } from './directory-write.ts';

const nameLimit = 512;
/** Of the JSON of a user's attributes. A page of users is read into memory. */
const attributesLimit = 100_000;

export async function createUser(write: DirectoryWrite, body: Fields): Promise<Written> {
  const { tx, scope, now } = write;
  const user_id = write.id ?? write.newId();
  const made = { user_id, active: true, version: 1, created_at: now, updated_at: now };
  const user = toStored(readResource(userSchema, body), made);
  requireSmall(user);
  await insertUser(tx, scope, user);
  return {
    ...present(write, { ...user, groups: [] }, 201),
    events: [buildUserEvent('user-created', user, { after: summarize(user) })],
  };
}

export async function replaceUser(write: DirectoryWrite, id: string, body: Fields): Promise<Written> {
  const stored = await lock(write, id);
  return changeUser(write, stored, readResource(userSchema, body));
}

export async function patchUser(write: DirectoryWrite, id: string, body: Fields): Promise<Written> {
  const stored = await lock(write, id);
  const { resource } = applyPatch(userSchema, toResource(stored), body);
  return changeUser(write, stored, resource);
}

export async function deleteUser(write: DirectoryWrite, id: string): Promise<Written> {
  const { tx, scope, now } = write;
  const stored = await lock(write, id);
  if (stored.is_super_admin && !(await write.isSuperAdmin))
    throw problem('directory-limit', {
      reason: 'cannot delete a member of a group that gives SUPER_ADMIN; deactivate the user instead',
    });
  const { left, events } = await removeUser(tx, scope, stored, now);
  return describeWrite(204, stored.user_id, {
    events: [buildUserEvent('user-deleted', stored, { before: summarize(stored) }), ...events],
    removed: left.map((group) => ({
      group: [group.group_id, group.display_name] as const,
      user: [stored.user_id, stored.display_name ?? stored.user_name] as const,
    })),
    users: [stored.user_id],
  });
}

async function lock({ tx, scope, ifMatch }: DirectoryWrite, id: string): Promise<LockedUser> {
  lockSuperAdminsOfUser(tx, scope, toUuid(id));
  const stored = await lockUser(tx, scope, id);
  requireMatch(ifMatch, renderUserTag(stored));
  return stored;
}

async function changeUser(write: DirectoryWrite, stored: LockedUser, resource: Resource): Promise<Written> {
  const { tx, scope, now } = write;
  const { is_super_admin: isSuperAdmin, ...before } = stored;
  const after = toStored(resource, before);
  const changed = listChanged(toResource(before), toResource(after));
  const isSame = changed.length === 0;
  const events: AccountEvent[] = [];
  if (!isSame) {
    requireSmall(after, before);
    const isRenamed = before.user_name !== after.user_name || before.external_id !== after.external_id;
    if (isSuperAdmin && isRenamed && !(await write.isSuperAdmin))
      throw problem('directory-limit', {
        reason: 'cannot change userName or externalId of a member of a group that gives SUPER_ADMIN',
      });
    // It would be a new Super Admin, as if the directory had added the user to the group.
    if (isSuperAdmin && !before.active && after.active && !(await write.isSuperAdmin))
      throw problem('directory-limit', {
        reason: 'cannot activate a member of a group that gives SUPER_ADMIN',
      });
    if (isSuperAdmin && (isRenamed || (!before.active && after.active)))
      await requireLastingSuperAdmin(tx, write, null);
    if (!after.active) await requireOtherIfSuperAdmin(tx, scope, stored);
    Object.assign(after, { version: before.version + 1, updated_at: now });
    await updateUser(tx, scope, before, after);
    const states = { before: summarize(before), after: { ...summarize(after), changed } };
    events.push(buildUserEvent('user-updated', after, states));
    if (before.active !== after.active)
      events.push(
        buildUserEvent(after.active ? 'user-activated' : 'user-deactivated', after, {
          before: { active: before.active },
          after: { active: after.active },
        }),
      );
  }
  const { user_id } = before;
  // Also reads what an unchanged answer needs: the groups.
  const withGroups = isReturned(write.projection, 'groups');
  const row =
    withGroups || !isSame ? await requireUser(tx, scope, user_id, withGroups) : { ...before, groups: null };
  return { ...present(write, row, 200), events, users: before.active === after.active ? [] : [user_id] };
}

function present(write: DirectoryWrite, row: Parameters<typeof presentUser>[1], status: 200 | 201): Written {
  const resource = projectResource(write.projection, presentUser(write.base, row));
  return describeWrite(status, row.user_id, { resource, etag: renderUserTag(row) });
}

/** The attributes that a client may write. */
function toResource(user: StoredUser): Resource {
  const resource: Resource = {
    ...structuredClone(user.attributes),
    userName: user.user_name,
    active: user.active,
  };
  if (user.external_id !== null) resource.externalId = user.external_id;
  if (user.display_name !== null) resource.displayName = user.display_name;
  return resource;
}

type RetainedMembers = Pick<StoredUser, 'user_id' | 'active' | 'version' | 'created_at' | 'updated_at'>;

/** Throws `invalid-attribute-value` without a userName. A password is not stored. */
function toStored(resource: Resource, retained: RetainedMembers): StoredUser {
  const { userName: _, externalId, displayName, active, password: __, ...attributes } = resource;
  const rest = Object.entries(attributes).filter(([, value]) => value !== null && !isEmptyObject(value));
  return {
    user_id: retained.user_id,
    user_name: requireText(resource, 'userName', nameLimit),
    external_id: readShortText('externalId', externalId),
    display_name: typeof displayName === 'string' ? displayName : null,
    active: typeof active === 'boolean' ? active : retained.active,
    attributes: Object.fromEntries(rest),
    version: retained.version,
    created_at: retained.created_at,
    updated_at: retained.updated_at,
  };
}

/** Throws `invalid-attribute-value`. A user that is too large already may still become smaller or inactive. */
function requireSmall(after: StoredUser, before?: StoredUser): void {
  const measure = (user: StoredUser) => JSON.stringify([user.display_name, user.attributes]).length;
  const size = measure(after);
  if (size > attributesLimit && (before === undefined || size > measure(before)))
    throw createValueProblem(
      `The attributes of the user have ${size} characters as JSON; at most ${attributesLimit} are allowed together.`,
    );
}

/** Indexed. */
export function readShortText(name: string, value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  if (value.length > nameLimit)
    throw createValueProblem(`${name} has ${value.length} characters; at most ${nameLimit} are allowed.`);
  return value;
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  );
}

/** The names of the attributes that differ. Values that may be private stay out of events. */
function listChanged(before: Resource, after: Resource): string[] {
  const render = (value: unknown) => JSON.stringify(sortNames(value));
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => render(before[name]) !== render(after[name])).toSorted();
}

/** In one order of names, so that two equal resources have the same text. */
export function sortNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortNames);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sortNames(inner)]));
}

function summarize({ user_name, external_id, display_name, active }: StoredUser) {
  return {
    userName: user_name,
    ...(external_id === null ? {} : { externalId: external_id }),
    ...(display_name === null ? {} : { displayName: display_name }),
    active,
  };
}

function buildUserEvent(
  name: AccountEvent['name'],
  user: StoredUser,
  states: { before?: object; after?: object },
): AccountEvent {
  return { name, subject: { type: 'user', id: user.user_id, name: user.user_name }, ...states };
}
