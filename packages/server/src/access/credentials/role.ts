/** Role names in requests, and the scopes in which each is allowed. */
import { type AccountRole, accountRoles, environmentRoles, projectRoles } from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { findWord } from '../../kernel/http/words.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { resolveGrantedWord } from '../custom-roles/index.ts';

export interface RoleGrant {
  projectId: string;
  environmentName?: string | undefined;
  role: string;
}

type RequestedRoles = readonly { projectId: string; environmentName?: string | undefined; role: string }[];

interface RoleRequest {
  role: string;
  roles?: RequestedRoles | undefined;
  projectId?: string | undefined;
}

/** Of the member `roles` of a body. Throws `unknown-role` and `permissions-not-held`. */
export async function readGrants(
  tx: Transaction,
  caller: { scope: Scope; now: Date },
  roles: RequestedRoles,
): Promise<RoleGrant[]> {
  const grants: RoleGrant[] = [];
  for (const [index, { projectId, environmentName, role }] of roles.entries()) {
    const builtIn = environmentName === undefined ? projectRoles : environmentRoles;
    const requested = { role, field: `body.roles[${index}].role`, builtIn };
    const place = { projectId, environmentName: environmentName ?? null };
    const word = await resolveGrantedWord(tx, caller, { ...requested, ...place });
    grants.push({ projectId, environmentName, role: word });
  }
  return grants;
}

/** The account role and the grants of a request. Throws `unknown-role` and `permissions-not-held`. */
export async function readRoles(
  tx: Transaction,
  caller: { scope: Scope; now: Date },
  body: RoleRequest,
): Promise<{ accountRole: AccountRole; grants: RoleGrant[] }> {
  const grants = await readGrants(tx, caller, body.roles ?? []);
  const accountRole = findWord(accountRoles, body.role);
  if (body.projectId === undefined || accountRole !== undefined) {
    return { accountRole: accountRole ?? requireRole(accountRoles, body.role, 'body.role'), grants };
  }
  const role = await resolveGrantedWord(tx, caller, {
    role: body.role,
    field: 'body.role',
    builtIn: projectRoles,
    projectId: body.projectId,
    environmentName: null,
  });
  return { accountRole: 'MEMBER', grants: [{ projectId: body.projectId, role }, ...grants] };
}

function requireRole<Word extends string>(allowed: readonly Word[], found: string, field: string): Word {
  const word = findWord(allowed, found);
  if (word === undefined) throw problem('unknown-role', { field, found, allowed });
  return word;
}
