/** The tables `directory_group` and `directory_role`. SCIM changes them too. */
import type { Group } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { foldName } from '../../kernel/fold-name.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const groupRow = {
  group_id: 'uuid',
  display_name: 'text',
  external_id: 'text?',
  role: 'text?',
  project_id: 'uuid?',
  environment: 'text?',
  version: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} satisfies ColumnTypes;
export type GroupRow = RowOf<typeof groupRow>;

/** With whether the members have the role now: its place may have been deleted. */
const shownGroup = { ...groupRow, gives_role: 'boolean' } satisfies ColumnTypes;
export type ShownGroup = RowOf<typeof shownGroup>;

const columns = `g.group_id, g.display_name, g.external_id, g.role, g.project_id, g.environment, g.version, g.created_at,
  g.updated_at, (
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
    where m.account_id = $account_id and m.user_id = $user_id
    order by g.display_name_key limit $limit offset $offset`,
    total: `
    select count(*)::bigint as total from directory_member
    where account_id = $account_id and user_id = $user_id`,
  },
);

/** No row if the user does not exist. */
export const userExists = guardedRead(
  { parameters: { user_id: 'uuid' }, row: { user_id: 'uuid' } },
  'select user_id from directory_user where account_id = $account_id and user_id = $user_id',
);

const written = { account_id: 'uuid', ...groupRow, display_name_key: 'text' } as const;
const projectName = `(
  select p.name from project p where p.account_id = $account_id and p.project_id = $project_id)`;

const insertOne = statement(
  { parameters: written },
  `
  insert into directory_group (account_id, group_id, display_name, display_name_key, external_id, role, project_id,
    project_name, environment, attributes, version, created_at, updated_at)
  values ($account_id, $group_id, $display_name, $display_name_key, $external_id, $role, $project_id, ${projectName},
    $environment, '{}', $version, $created_at, $updated_at)`,
);

function toParameters({ accountId }: Scope, row: GroupRow) {
  return { ...row, account_id: accountId, display_name_key: foldName(row.display_name) };
}

function refuseTakenName(tx: Transaction, { display_name: name }: GroupRow): void {
  tx.onConstraint('directory_group_name_taken', () => problem('group-name-taken', { name }));
}

/** Throws `group-name-taken`, `unknown-project` and `unknown-environment`. */
export function insertGroup(tx: Transaction, scope: Scope, row: GroupRow): void {
  refuseTakenName(tx, row);
  tx.send(insertOne, toParameters(scope, row));
  sendRole(tx, scope, row);
}

const insertRole = statement(
  {
    parameters: {
      account_id: 'uuid',
      group_id: 'uuid',
      project_id: 'uuid?',
      environment_name: 'text?',
      role: 'text',
    },
  },
  `
  insert into directory_role (account_id, group_id, project_id, environment_name, role)
  values ($account_id, $group_id, $project_id, $environment_name, $role)`,
);

function sendRole(tx: Transaction, { accountId }: Scope, row: GroupRow): void {
  const { group_id, role, project_id, environment: environment_name } = row;
  if (role === null) return;
  tx.onConstraint('directory_role_in_project', () => problem('unknown-project', { id: project_id ?? '' }));
  tx.onConstraint('directory_role_in_environment', () =>
    problem('unknown-environment', { name: environment_name ?? '' }),
  );
  tx.send(insertRole, { account_id: accountId, group_id, project_id, environment_name, role });
}

const deleteRoles = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid' } },
  'delete from directory_role where account_id = $account_id and group_id = $group_id',
);

/** Replaces what the group gives. Throws as `insertGroup` does. */
export function replaceGroupRole(tx: Transaction, scope: Scope, row: GroupRow): void {
  tx.send(deleteRoles, { account_id: scope.accountId, group_id: row.group_id });
  sendRole(tx, scope, row);
}

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', group_id: 'uuid' },
    row: { ...shownGroup, is_protected: 'boolean', has_members: 'boolean' },
  },
  `
  select ${columns}, a.protect_role_groups as is_protected, exists (
    select from directory_member m where m.account_id = g.account_id and m.group_id = g.group_id) as has_members
  from directory_group g
  join account a on a.account_id = g.account_id
  where g.account_id = $account_id and g.group_id = $group_id
  for update of g`,
);

export type LockedGroup = Awaited<ReturnType<typeof lockGroup>>;

/** Throws `group-not-found`. */
export async function lockGroup(tx: Transaction, scope: Scope, id: string) {
  const found = await tx.query(lockOne, { account_id: scope.accountId, group_id: toUuid(id) });
  return requireRow(found, () => problem('group-not-found', { id }));
}

/**
 * For a change that takes the last member from a group. Throws `role-group-protected` if the group gives a
 * role and the settings of the directory require a confirmation.
 */
export function requireConfirmed(group: LockedGroup, confirm: boolean): void {
  if (group.gives_role && group.is_protected && !confirm)
    throw problem('role-group-protected', { name: group.display_name });
}

const { created_at: _, ...updated } = written;
const updateOne = statement(
  { parameters: updated },
  `
  update directory_group set display_name = $display_name, display_name_key = $display_name_key,
    external_id = $external_id, role = $role, project_id = $project_id, project_name = ${projectName},
    environment = $environment, version = $version, updated_at = $updated_at
  where account_id = $account_id and group_id = $group_id`,
);

/** Throws `group-name-taken`. */
export function updateGroupRow(tx: Transaction, scope: Scope, row: GroupRow): void {
  refuseTakenName(tx, row);
  const { created_at: _createdAt, ...parameters } = toParameters(scope, row);
  tx.send(updateOne, parameters);
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid' } },
  'delete from directory_group where account_id = $account_id and group_id = $group_id',
);

/** Members and role are deleted by cascade. */
export function deleteGroupRow(tx: Transaction, scope: Scope, groupId: string): void {
  tx.send(deleteOne, { account_id: scope.accountId, group_id: groupId });
}

export function renderGroupEtag({ group_id: id, version }: GroupRow): string {
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
