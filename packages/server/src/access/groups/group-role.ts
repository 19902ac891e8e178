/** The role of a group: a word, and the place where the members have it. */
import { accountRoles, environmentRoles, projectRoles } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';

export interface GroupRole {
  role: string | null;
  projectId: string | null;
  environmentName: string | null;
}

/** A role of credentials, which a directory's own client has. */
const groupAccountRoles = accountRoles.filter((role) => role !== 'DIRECTORY');

/** The roles that a group can give at a place. */
export function listRolesAt({ projectId, environmentName }: Omit<GroupRole, 'role'>): readonly string[] {
  if (environmentName !== null) return environmentRoles;
  return projectId === null ? groupAccountRoles : projectRoles;
}

/** Throws `place-without-role` and `environment-without-project`. */
export function checkPlace({ role, projectId, environmentName }: GroupRole): void {
  if (environmentName !== null && projectId === null) throw problem('environment-without-project');
  if (role === null) {
    if (projectId === null) return;
    throw problem('place-without-role', {
      member: environmentName === null ? 'projectId' : 'environmentName',
    });
  }
}
