/** Users and groups as SCIM shows them. */
import { type ScimGroup, type ScimUser, scimUrns } from '@headgate/contract';
import { makeEntityTag } from '../../../kernel/http/if-match.ts';
import type { Link } from '../../groups/index.ts';
import { groupSchema } from '../schema/group-schema.ts';
import type { ResourceSchema } from '../schema/scim-attribute.ts';
import { isNarrowed, type Projection, projectResource } from '../schema/scim-projection.ts';
import { userSchema } from '../schema/user-schema.ts';
import type { GroupRow } from './scim-group.store.ts';
import type { UserRow } from './scim-user.store.ts';

interface Versioned {
  version: number;
  created_at: Date;
  updated_at: Date;
}

/** `base` is the address of the SCIM service. */
function presentMeta(schema: ResourceSchema, base: string, id: string, row: Versioned) {
  return {
    resourceType: schema.type,
    created: row.created_at.toISOString(),
    lastModified: row.updated_at.toISOString(),
    location: `${base}/${schema.endpoint}/${id}`,
    version: makeEntityTag(id, row.version),
  };
}

const userNames = userSchema.attributes.map(({ name }) => name);

export function presentUser(base: string, row: UserRow): ScimUser {
  const { attributes } = row;
  const hasExtension = Object.hasOwn(attributes, scimUrns.enterpriseUser);
  const known: Record<string, unknown> = {
    ...attributes,
    userName: row.user_name,
    displayName: row.display_name ?? undefined,
    active: row.active,
    groups: row.groups?.map(([id, display]) => {
      const address = `${base}/Groups/${id}`;
      return { value: id, $ref: address, ref: address, display, type: 'DIRECT' };
    }),
  };
  const shown: Record<string, unknown> = {
    schemas: hasExtension ? [scimUrns.user, scimUrns.enterpriseUser] : [scimUrns.user],
    id: row.user_id,
  };
  if (row.external_id !== null) shown.externalId = row.external_id;
  for (const name of userNames) if (known[name] !== undefined) shown[name] = known[name];
  if (hasExtension) shown[scimUrns.enterpriseUser] = attributes[scimUrns.enterpriseUser];
  shown.meta = presentMeta(userSchema, base, row.user_id, row);
  return shown as ScimUser;
}

/** A caller who is no user (RFC 7644 §3.11: the resource of the authenticated subject). */
export function presentCredentialAsUser(base: string, id: string, name: string): ScimUser {
  return {
    schemas: [scimUrns.user],
    id,
    userName: name,
    userType: 'Credential',
    active: true,
    meta: { resourceType: userSchema.type, location: `${base}/Me` },
  };
}

export function presentGroup(base: string, accountId: string, row: GroupRow): ScimGroup {
  const group: ScimGroup = { schemas: [scimUrns.group], id: row.group_id };
  if (row.external_id !== null) group.externalId = row.external_id;
  group.displayName = row.display_name;
  group.accountId = accountId;
  group.accountName = row.account_name;
  if (row.role !== null) group.role = row.role;
  if (row.project_id !== null) group.projectId = row.project_id;
  if (row.project_name !== null) group.projectName = row.project_name;
  if (row.environment !== null) group.environment = row.environment;
  if (row.members !== null) {
    group.members = row.members.map(([id, display]) => {
      const address = `${base}/Users/${id}`;
      return { value: id, $ref: address, ref: address, display, type: 'USER' };
    });
  }
  group.meta = presentMeta(groupSchema, base, row.group_id, row);
  return group;
}

/**
 * A group as JSON text. A list can have 100,000 members: made as text they take a third of the time that
 * objects take.
 */
export function renderGroup(
  projection: Projection,
  { base, accountId }: { base: string; accountId: string },
  row: GroupRow,
): string {
  if (row.members === null || isNarrowed(projection, 'members'))
    return JSON.stringify(projectResource(projection, presentGroup(base, accountId, row)));
  const rest = presentGroup(base, accountId, { ...row, members: null });
  const text = JSON.stringify(projectResource(projection, rest));
  return `${text.slice(0, -1)},"members":[${renderMembers(base, row.members)}]}`;
}

function renderMembers(base: string, members: readonly Link[]): string {
  const users = JSON.stringify(`${base}/Users/`).slice(0, -1);
  const renderMember = ([id, display]: Link) =>
    `{"value":"${id}","$ref":${users}${id}","ref":${users}${id}","display":${JSON.stringify(display)},"type":"USER"}`;
  return members.map(renderMember).join(',');
}

export function renderUserTag(row: { user_id: string; version: number }): string {
  return makeEntityTag(row.user_id, row.version);
}

export function renderGroupTag(row: { group_id: string; version: number }): string {
  return makeEntityTag(row.group_id, row.version);
}
