/** Role names in requests, and the scopes in which each is allowed. */
import {
  type AccountRole,
  accountRoles,
  type EnvironmentRole,
  environmentRoles,
  type ProjectRole,
  projectRoles,
} from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { findWord } from '../../kernel/http/words.ts';

export interface RoleGrant {
  projectId: string;
  environmentName?: string | undefined;
  role: ProjectRole | EnvironmentRole;
}

type RequestedRoles = readonly { projectId: string; environmentName?: string | undefined; role: string }[];

interface RoleRequest {
  role: string;
  roles?: RequestedRoles | undefined;
  projectId?: string | undefined;
}

/** Of the member `roles` of a body. Throws `unknown-role`. */
export const readGrants = (roles: RequestedRoles): RoleGrant[] =>
  roles.map(({ projectId, environmentName, role }, index) => {
    const allowed = environmentName === undefined ? projectRoles : environmentRoles;
    return { projectId, environmentName, role: requireRole(allowed, role, `body.roles[${index}].role`) };
  });

/** The account role and the grants of a request. Throws `unknown-role`. */
export function readRoles(body: RoleRequest): { accountRole: AccountRole; grants: RoleGrant[] } {
  const grants = readGrants(body.roles ?? []);
  const accountRole = findWord(accountRoles, body.role);
  if (body.projectId === undefined || accountRole !== undefined) {
    return { accountRole: accountRole ?? requireRole(accountRoles, body.role, 'body.role'), grants };
  }
  const role = requireRole(projectRoles, body.role, 'body.role');
  return { accountRole: 'MEMBER', grants: [{ projectId: body.projectId, role }, ...grants] };
}

function requireRole<Word extends string>(allowed: readonly Word[], found: string, field: string): Word {
  const word = findWord(allowed, found);
  if (word === undefined) throw problem('unknown-role', { field, found, allowed });
  return word;
}
