/** The tables `directory_group` and `directory_role`. */
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { foldName } from '../../kernel/fold-name.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { projectName } from './resource-sql.ts';
import type { Link, Search } from './user.store.ts';

const groupColumns = {
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
export type StoredGroup = RowOf<typeof groupColumns>;

const shownGroup = {
  ...groupColumns,
  account_name: 'text',
  members: typed<Link[] | null>('json'),
} satisfies ColumnTypes;
export type GroupRow = RowOf<typeof shownGroup>;

const ownColumns = `r.group_id, r.display_name, r.external_id, r.role, r.project_id, ${projectName} as project_name, r.environment,
    r.version, r.created_at, r.updated_at`;
const columns = `${ownColumns}, (select a.name from account a where a.account_id = r.account_id) as account_name,
    case when $with_members then (
      select coalesce(json_agg(json_build_array(m.user_id, coalesce(u.display_name, u.user_name)) order by m.user_id), '[]')
      from directory_member m join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id
      where m.account_id = r.account_id and m.group_id = r.group_id) end as members`;

export const groupById = guardedRead(
  { parameters: { group_id: 'uuid', with_members: 'boolean' }, row: shownGroup },
  `select ${columns} from directory_group r where r.account_id = $account_id and r.group_id = $group_id`,
);

export function searchGroups({ condition = 'true', order, parameters }: Search) {
  const where = `where r.account_id = $account_id and ${condition}`;
  const by = order === undefined ? 'r.group_id' : `${order}, r.group_id`;
  return guardedPage(
    {
      parameters: { ...parameters.types, with_members: 'boolean', limit: 'bigint', offset: 'bigint' },
      row: shownGroup,
      passing: true,
    },
    {
      rows: `select ${columns} from directory_group r ${where} order by ${by} limit $limit offset $offset`,
      total: `select count(*)::bigint as total from directory_group r ${where}`,
    },
  );
}

const selectOne = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid', with_members: 'boolean' }, row: shownGroup },
  `select ${columns} from directory_group r where r.account_id = $account_id and r.group_id = $group_id`,
);

export async function requireGroup(
  tx: Transaction,
  scope: Scope,
  id: string,
  withMembers: boolean,
): Promise<GroupRow> {
  const found = await tx.query(selectOne, {
    account_id: scope.accountId,
    group_id: toUuid(id),
    with_members: withMembers,
  });
  return requireRow(found, () => problem('group-not-found', { id }));
}

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', group_id: 'uuid' },
    row: { ...groupColumns, gives_role: 'boolean', gives_super_admin: 'boolean' },
  },
  `
  select ${ownColumns},
    exists (select from directory_role g where g.account_id = r.account_id and g.group_id = r.group_id) as gives_role,
    exists (select from directory_role g where g.account_id = r.account_id and g.group_id = r.group_id and g.project_id is null
      and g.role = 'SUPER_ADMIN') as gives_super_admin
  from directory_group r where r.account_id = $account_id and r.group_id = $group_id for update`,
);
export type LockedGroup = StoredGroup & { gives_role: boolean; gives_super_admin: boolean };

/** Throws `group-not-found`. Two changes of one group wait for each other. */
export async function lockGroup(tx: Transaction, scope: Scope, id: string): Promise<LockedGroup> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, group_id: toUuid(id) });
  return requireRow(found, () => problem('group-not-found', { id }));
}

const written = {
  account_id: 'uuid',
  group_id: 'uuid',
  display_name: 'text',
  display_name_key: 'text',
  external_id: 'text?',
  role: 'text?',
  project_id: 'uuid?',
  project_name: 'text?',
  environment: 'text?',
  version: 'bigint',
  updated_at: 'timestamptz',
} as const;

function writtenValues(scope: Scope, { created_at: _, ...group }: StoredGroup) {
  return { account_id: scope.accountId, ...group, display_name_key: foldName(group.display_name) };
}

const insertOne = statement(
  { parameters: { ...written, created_at: 'timestamptz' }, row: { group_id: 'uuid' } },
  `
  insert into directory_group (account_id, group_id, display_name, display_name_key, external_id, role, project_id, project_name,
    environment, attributes, version, created_at, updated_at)
  values ($account_id, $group_id, $display_name, $display_name_key, $external_id, $role, $project_id, $project_name,
    $environment, '{}', $version, $created_at, $updated_at)
  on conflict do nothing returning group_id`,
);

/** Throws `group-name-taken`. Nothing is changed then. */
export async function insertGroup(tx: Transaction, scope: Scope, group: StoredGroup): Promise<void> {
  const made = await tx.query(insertOne, { ...writtenValues(scope, group), created_at: group.created_at });
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

/** Throws `group-name-taken`. */
export async function requireFreeName(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  name: string,
): Promise<void> {
  const key = foldName(name);
  const of = { account_id: scope.accountId, group_id: groupId, display_name_key: key };
  if ((await tx.query(selectNamesake, of)).length > 0) throw problem('group-name-taken', { name });
  tx.onConstraint('directory_group_name_taken', () => problem('group-name-taken', { name }));
}

const updateOne = statement(
  { parameters: written },
  `
  update directory_group set display_name = $display_name, display_name_key = $display_name_key, external_id = $external_id,
    role = $role, project_id = $project_id, project_name = $project_name, environment = $environment, version = $version,
    updated_at = $updated_at
  where account_id = $account_id and group_id = $group_id`,
);

export function updateGroup(tx: Transaction, scope: Scope, group: StoredGroup): void {
  tx.send(updateOne, writtenValues(scope, group));
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid' } },
  'delete from directory_group where account_id = $account_id and group_id = $group_id',
);

export function deleteGroup(tx: Transaction, scope: Scope, groupId: string): void {
  tx.send(deleteOne, { account_id: scope.accountId, group_id: groupId });
}

const deleteRole = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid' } },
  'delete from directory_role where account_id = $account_id and group_id = $group_id',
);
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

/** What a group gives. */
export interface GivenRole {
  projectId: string | null;
  environmentName: string | null;
  role: string;
}

/** The project and environment were read before; if one was deleted since, the request is repeated. */
export function setGivenRole(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  given: GivenRole | undefined,
): void {
  const of = { account_id: scope.accountId, group_id: groupId };
  tx.send(deleteRole, of);
  if (given === undefined) return;
  for (const constraint of ['directory_role_in_project', 'directory_role_in_environment'])
    tx.onConstraint(constraint, () => problem('concurrent-change'));
  const { projectId, environmentName, role } = given;
  tx.send(insertRole, { ...of, project_id: projectId, environment_name: environmentName, role });
}

const projectRow = { project_id: 'uuid', name: 'text' } as const;
const selectProjectById = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: projectRow },
  'select project_id, name from project where account_id = $account_id and project_id = $project_id',
);
const selectProjectByName = statement(
  { parameters: { account_id: 'uuid', name: 'text' }, row: projectRow },
  'select project_id, name from project where account_id = $account_id and name = $name',
);

/** By the id, if it is given. */
export async function findProject(
  tx: Transaction,
  scope: Scope,
  { id, name }: { id: string | undefined; name: string | undefined },
) {
  const of = { account_id: scope.accountId };
  const [found] =
    id === undefined
      ? await tx.query(selectProjectByName, { ...of, name: name ?? '' })
      : await tx.query(selectProjectById, { ...of, project_id: id });
  return found;
}

const selectEnvironments = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' },
    row: { name: 'text', is_exact: 'boolean' },
  },
  `
  select name, name = $name as is_exact from environment
  where account_id = $account_id and project_id = $project_id and lower(name) = lower($name) order by name = $name desc, name`,
);

/** By its name; in another case, if only one has it. */
export async function findEnvironmentName(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<string | undefined> {
  const of = { account_id: scope.accountId, project_id: projectId, name };
  const found = await tx.query(selectEnvironments, of);
  const [first] = found;
  return first?.is_exact || found.length === 1 ? first?.name : undefined;
}
