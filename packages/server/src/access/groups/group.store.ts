/** The table `directory_group`, for SCIM and /v1/groups. */
import type { Group } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { foldName } from '../users/index.ts';

export const storedGroup = {
  group_id: 'uuid',
  display_name: 'text',
  external_id: 'text?',
  role: 'text?',
  project_id: 'uuid?',
  project_name: 'text?',
  environment: 'text?',
  version: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} satisfies ColumnTypes;
/** A group as stored. */
export type StoredGroup = RowOf<typeof storedGroup>;

/** With whether the members have the role now: its place may have been deleted. */
const shownGroup = { ...storedGroup, gives_role: 'boolean' } satisfies ColumnTypes;
export type ShownGroup = RowOf<typeof shownGroup>;

/**
 * SQL: the name of the project of a group. The stored one is that of a deleted project; another project may have
 * it after a project was renamed.
 */
export const selectProjectName = (row: string) => `coalesce((
    select p.name from project p where p.account_id = ${row}.account_id and p.project_id = ${row}.project_id), ${row}.project_name)`;

/** SQL: the columns of a row of the table. */
export const selectGroup = (row: string) =>
  Object.keys(storedGroup)
    .map((column) =>
      column === 'project_name' ? `${selectProjectName(row)} as project_name` : `${row}.${column}`,
    )
    .join(', ');
const columns = `${selectGroup('g')}, (
    select true from directory_role r
    where r.account_id = g.account_id and r.group_id = g.group_id limit 1) is true as gives_role`;

export const groupPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: shownGroup },
  {
    rows: `
    select ${columns} from directory_group g where g.account_id = $account_id
    order by g.display_name_key limit $limit offset $offset`,
    total: 'select count(*)::bigint as total from directory_group where account_id = $account_id',
  },
);

export const groupById = guardedRead(
  { parameters: { group_id: 'uuid' }, row: shownGroup },
  `select ${columns} from directory_group g where g.account_id = $account_id and g.group_id = $group_id`,
);

export const groupsOfUser = guardedPage(
  { parameters: { user_id: 'uuid', limit: 'bigint', offset: 'bigint' }, row: shownGroup },
  {
    rows: `
    select ${columns} from directory_member m
    join directory_group g on g.account_id = m.account_id and g.group_id = m.group_id
    where m.account_id = $account_id and m.user_id = $user_id and ${inEffect('m')}
    order by g.display_name_key limit $limit offset $offset`,
    total: `
    select count(*)::bigint as total from directory_member m
    where m.account_id = $account_id and m.user_id = $user_id and ${inEffect('m')}`,
  },
);

/** No row if the user does not exist. */
export const userExists = guardedRead(
  { parameters: { user_id: 'uuid' }, row: { user_id: 'uuid' } },
  'select user_id from directory_user where account_id = $account_id and user_id = $user_id',
);

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', group_id: 'uuid' },
    row: { ...shownGroup, gives_super_admin: 'boolean', is_protected: 'boolean' },
  },
  `
  select ${columns}, exists (
      select from directory_role r where r.account_id = g.account_id and r.group_id = g.group_id and r.project_id is null
        and r.role = 'SUPER_ADMIN') as gives_super_admin,
    a.protect_role_groups as is_protected
  from directory_group g join account a on a.account_id = g.account_id
  where g.account_id = $account_id and g.group_id = $group_id for update of g`,
);
export type LockedGroup = Awaited<ReturnType<typeof lockGroup>>;

/** Throws `group-not-found`. Two changes of one group wait for each other. */
export async function lockGroup(tx: Transaction, scope: Scope, id: string) {
  const found = await tx.query(lockOne, { account_id: scope.accountId, group_id: toUuid(id) });
  return requireRow(found, () => problem('group-not-found', { id }));
}

const { created_at: createdAt, ...updated } = {
  account_id: 'uuid',
  ...storedGroup,
  display_name_key: 'text',
} as const;

function toParameters({ accountId }: Scope, group: StoredGroup) {
  const { group_id, display_name, external_id, role, project_id, project_name, environment } = group;
  const columns = { group_id, display_name, external_id, role, project_id, project_name, environment };
  const { version, updated_at } = group;
  const display_name_key = foldName(display_name);
  return { ...columns, version, updated_at, account_id: accountId, display_name_key };
}

const insertOne = statement(
  { parameters: { ...updated, created_at: createdAt }, row: { group_id: 'uuid' } },
  `
  insert into directory_group (account_id, group_id, display_name, display_name_key, external_id, role, project_id,
    project_name, environment, attributes, version, created_at, updated_at)
  values ($account_id, $group_id, $display_name, $display_name_key, $external_id, $role, $project_id, $project_name,
    $environment, '{}', $version, $created_at, $updated_at)
  on conflict do nothing returning group_id`,
);

/** Throws `group-name-taken`. Nothing is changed then, so that a Bulk request can go on. */
export async function insertGroup(tx: Transaction, scope: Scope, group: StoredGroup): Promise<void> {
  const made = await tx.query(insertOne, { ...toParameters(scope, group), created_at: group.created_at });
  if (made.length === 0) throw problem('group-name-taken', { name: group.display_name });
}

const selectNamesake = statement(
  {
    parameters: { account_id: 'uuid', group_id: 'uuid', display_name_key: 'text' },
    row: { group_id: 'uuid' },
  },
  `
  select group_id from directory_group
  where account_id = $account_id and display_name_key = $display_name_key and group_id <> $group_id`,
);

/** For a group whose name changes. Throws `group-name-taken`, now or at the update. */
export async function requireFreeName(
  tx: Transaction,
  scope: Scope,
  { group_id, display_name: name }: StoredGroup,
  newName: string,
): Promise<void> {
  const display_name_key = foldName(newName);
  if (display_name_key === foldName(name)) return;
  const of = { account_id: scope.accountId, group_id, display_name_key };
  const taken = () => problem('group-name-taken', { name: newName });
  if ((await tx.query(selectNamesake, of)).length > 0) throw taken();
  tx.onConstraint('directory_group_name_taken', taken);
}

const updateOne = statement(
  { parameters: updated },
  `
  update directory_group set display_name = $display_name, display_name_key = $display_name_key,
    external_id = $external_id, role = $role, project_id = $project_id, project_name = $project_name,
    environment = $environment, version = $version, updated_at = $updated_at
  where account_id = $account_id and group_id = $group_id`,
);

export function updateGroup(tx: Transaction, scope: Scope, group: StoredGroup): void {
  tx.send(updateOne, toParameters(scope, group));
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid' } },
  'delete from directory_group where account_id = $account_id and group_id = $group_id',
);

/** With its members and what it gives. */
export function deleteGroup(tx: Transaction, scope: Scope, groupId: string): void {
  tx.send(deleteOne, { account_id: scope.accountId, group_id: groupId });
}

export function renderGroupEtag({ group_id: id, version }: StoredGroup): string {
  return makeEntityTag(id, version);
}

export function presentGroup(row: ShownGroup): Group {
  const group: Group = {
    groupId: row.group_id,
    displayName: row.display_name,
    givesRole: row.gives_role,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
  if (row.external_id !== null) group.externalId = row.external_id;
  if (row.role !== null) group.role = row.role;
  if (row.project_id !== null) group.projectId = row.project_id;
  if (row.environment !== null) group.environmentName = row.environment;
  return group;
}
