/** How SQL gets the attributes of users (`r` is a row of directory_user) and of groups (of directory_group). */

import { selectProjectName } from '../../groups/index.ts';
import { groupSchema } from '../schema/group-schema.ts';
import { type Attribute, findAttribute, type Located } from '../schema/scim-attribute.ts';
import { userSchema } from '../schema/user-schema.ts';
import { quoteName, type SqlResource, type SqlValue } from './scim-filter-sql.ts';

/** A text in JSON. */
function jsonText({ caseExact, type }: Attribute, path: string): SqlValue {
  if (type === 'boolean') return { kind: 'boolean', sql: `((${path})::boolean)` };
  return caseExact
    ? { kind: 'text', sql: `(${path})`, exact: true }
    : { kind: 'text', sql: `lower(${path})` };
}

function findJson({ attribute, extension, sub }: Located): SqlValue | undefined {
  const holder = extension === undefined ? 'r.attributes' : `r.attributes -> ${quoteName(extension)}`;
  const name = quoteName(attribute.name);
  if (attribute.type !== 'complex') return jsonText(attribute, `${holder} ->> ${name}`);
  const subs = attribute.subAttributes;
  const main = sub?.name ?? 'value';
  if (attribute.multiValued) {
    return {
      kind: 'values',
      from: `jsonb_array_elements(coalesce(${holder} -> ${name}, '[]')) each where true`,
      main,
      sub: (subName) => {
        const found = findAttribute(subs, subName);
        return found && jsonText(found, `each ->> ${quoteName(found.name)}`);
      },
    };
  }
  const chosen = sub ?? findAttribute(subs, 'value');
  if (chosen === undefined) return { kind: 'text', sql: `(${holder} ->> ${name})`, exact: true };
  return jsonText(chosen, `${holder} -> ${name} ->> ${quoteName(chosen.name)}`);
}

/** Attributes that both types have, in columns. */
function findCommon(id: string, type: string, { attribute, sub }: Located): SqlValue | undefined {
  switch (attribute.name) {
    case 'id':
      return { kind: 'id', sql: id };
    case 'externalId':
      return { kind: 'text', sql: 'r.external_id', exact: true };
    case 'meta':
      switch (sub?.name) {
        case 'created':
          return { kind: 'time', sql: 'r.created_at' };
        case 'lastModified':
          return { kind: 'time', sql: 'r.updated_at' };
        case 'resourceType':
          return { kind: 'text', sql: `lower(${quoteName(type)})` };
        default:
          return undefined;
      }
    default:
      return undefined;
  }
}

function findSchemas(urns: string): SqlValue {
  return {
    kind: 'values',
    from: `(values ${urns}) each (urn) where true`,
    main: 'value',
    sub: (name) => (name === 'value' ? { kind: 'text', sql: 'lower(each.urn)' } : undefined),
  };
}

/** The other side of memberships. */
function findLinks(from: string, id: string, display: string, type: string, main: string): SqlValue {
  return {
    kind: 'values',
    from,
    main,
    sub: (name) => {
      switch (name.toLowerCase()) {
        case 'value':
          return { kind: 'id', sql: id };
        case 'display':
          return { kind: 'text', sql: `lower(${display})` };
        case 'type':
          return { kind: 'text', sql: `lower(${quoteName(type)})` };
        default:
          return undefined;
      }
    },
  };
}

const extensionUrn = quoteName(userSchema.extension?.urn ?? '');

export const userSql: SqlResource = {
  schema: userSchema,
  find(located) {
    const { attribute, extension, sub } = located;
    if (extension !== undefined) return findJson(located);
    switch (attribute.name) {
      case 'userName':
        return { kind: 'key', sql: 'r.user_name_key' };
      case 'displayName':
        return { kind: 'text', sql: 'lower(r.display_name)' };
      case 'active':
        return { kind: 'boolean', sql: 'r.active' };
      case 'password':
        return undefined;
      case 'schemas':
        return findSchemas(
          `(${quoteName(userSchema.urn)}), (case when r.attributes ? ${extensionUrn} then ${extensionUrn} end)`,
        );
      case 'groups':
        return findLinks(
          `directory_member m join directory_group g on g.account_id = m.account_id and g.group_id = m.group_id
            where m.account_id = r.account_id and m.user_id = r.user_id`,
          'm.group_id',
          'g.display_name',
          'DIRECT',
          sub?.name ?? 'value',
        );
      case 'id':
      case 'externalId':
      case 'meta':
        return findCommon('r.user_id', 'User', located);
      default:
        return findJson(located);
    }
  },
};

/** SQL: the members of the group `r`, to be narrowed by further conditions. */
export const membersOfGroup = `directory_member m join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id
            where m.account_id = r.account_id and m.group_id = r.group_id`;

export const memberSql = (main: string): SqlValue =>
  findLinks(membersOfGroup, 'm.user_id', 'coalesce(u.display_name, u.user_name)', 'USER', main);

export const groupSql: SqlResource = {
  schema: groupSchema,
  find(located) {
    const { attribute, sub } = located;
    switch (attribute.name) {
      case 'displayName':
        return { kind: 'key', sql: 'r.display_name_key' };
      case 'schemas':
        return findSchemas(`(${quoteName(groupSchema.urn)})`);
      case 'members':
        return memberSql(sub?.name ?? 'value');
      case 'role':
        return { kind: 'text', sql: 'lower(r.role)' };
      case 'projectId':
        return { kind: 'id', sql: 'r.project_id' };
      case 'projectName':
        return { kind: 'text', sql: selectProjectName('r'), exact: true };
      case 'environment':
        return { kind: 'text', sql: 'r.environment', exact: true };
      case 'accountId':
        return { kind: 'id', sql: 'r.account_id' };
      case 'accountName':
        return {
          kind: 'text',
          sql: 'lower((select a.name from account a where a.account_id = r.account_id))',
        };
      default:
        return findCommon('r.group_id', 'Group', located);
    }
  },
};
