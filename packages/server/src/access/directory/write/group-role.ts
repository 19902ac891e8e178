/** What a group gives: its role, and the project and environment where it applies. */
import { problem } from '../../../kernel/http/problems.ts';
import { findWord } from '../../../kernel/http/words.ts';
import { isUuid } from '../../../kernel/identifiers.ts';
import {
  findEnvironmentName,
  findProject,
  type GrantedRole as GroupRole,
  listRolesAt,
  type StoredGroup,
} from '../../groups/index.ts';
import { createValueProblem, type Resource } from '../schema/scim-value.ts';
import type { DirectoryWrite } from './directory-write.ts';

export type RoleColumns = Pick<StoredGroup, 'role' | 'project_id' | 'project_name' | 'environment'>;

const nameOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;

/**
 * Finds the project and environment that the resource names, and checks that the role is one of that place.
 * Throws `invalid-attribute-value`.
 */
export async function resolveRole(
  { tx, scope }: DirectoryWrite,
  resource: Resource,
): Promise<{ columns: RoleColumns; role: GroupRole | undefined }> {
  const [id, name] = [nameOf(resource.projectId)?.toLowerCase(), nameOf(resource.projectName)];
  const environment = nameOf(resource.environment);
  const project =
    id === undefined && name === undefined
      ? undefined
      : id !== undefined && !isUuid(id)
        ? undefined
        : await findProject(tx, scope, { id, name });
  if (project === undefined && (id ?? name) !== undefined)
    throw createValueProblem(
      `There is no project ${JSON.stringify(id ?? name)}; ${id === undefined ? 'projectName' : 'projectId'} must name one of the account.`,
    );
  if (environment !== undefined && project === undefined)
    throw createValueProblem('environment needs the projectId or projectName of its project.');
  const environmentName =
    environment === undefined || project === undefined
      ? undefined
      : await findEnvironmentName(tx, scope, project.project_id, environment);
  if (environment !== undefined && environmentName === undefined)
    throw createValueProblem(
      `There is no environment ${JSON.stringify(environment)} in the project ${JSON.stringify(project?.name)}.`,
    );
  // If the place was deleted since, the request is repeated.
  for (const constraint of ['directory_role_in_project', 'directory_role_in_environment'])
    tx.onConstraint(constraint, () => problem('concurrent-change'));
  const place = { projectId: project?.project_id ?? null, environmentName: environmentName ?? null };
  const role = readRole(nameOf(resource.role), place, project?.name);
  return {
    columns: {
      role: role ?? null,
      project_id: project?.project_id ?? null,
      project_name: project?.name ?? null,
      environment: environment ?? null,
    },
    role: role === undefined ? undefined : { role, ...place },
  };
}

function readRole(
  input: string | undefined,
  place: { projectId: string | null; environmentName: string | null },
  projectName: string | undefined,
): string | undefined {
  if (input === undefined) return undefined;
  const roles = listRolesAt(place);
  const role = findWord(roles, input);
  if (role !== undefined) return role;
  const ofProject =
    place.projectId === null
      ? 'the account'
      : `the project ${JSON.stringify(projectName ?? place.projectId)}`;
  const where =
    place.environmentName === null ? ofProject : `the environment ${JSON.stringify(place.environmentName)}`;
  throw createValueProblem(
    `role is ${JSON.stringify(input)}; in ${where} it must be one of ${roles.join(', ')}.`,
  );
}
