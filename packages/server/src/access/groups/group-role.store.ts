/** The table `directory_role`: what groups give. */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

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
export interface GrantedRole {
  projectId: string | null;
  environmentName: string | null;
  role: string;
}

/** Replaces what a group gives. Set the problems of `directory_role_in_project` and `_in_environment` before. */
export function setGrantedRole(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  input: GrantedRole | undefined,
): void {
  const of = { account_id: scope.accountId, group_id: groupId };
  tx.send(deleteRole, of);
  if (input === undefined) return;
  const { projectId, environmentName, role } = input;
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
