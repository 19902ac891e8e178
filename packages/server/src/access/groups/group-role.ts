/** The role of a group: a word, and the place where the members have it. */
import { accountRoles, environmentRoles, projectRoles } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { findWord } from '../../kernel/http/words.ts';

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

/** Throws `unknown-role`, `place-without-role` and `environment-without-project`. */
export function readGroupRole({ role, projectId, environmentName }: GroupRole): GroupRole {
  if (environmentName !== null && projectId === null) throw problem('environment-without-project');
  if (role === null) {
    if (projectId === null) return { role, projectId, environmentName };
    throw problem('place-without-role', {
      member: environmentName === null ? 'projectId' : 'environmentName',
    });
  }
  const allowed = listRolesAt({ projectId, environmentName });
  const word = findWord(allowed, role);
  if (word === undefined) throw problem('unknown-role', { field: 'body.role', found: role, allowed });
  return { role: word, projectId, environmentName };
}
