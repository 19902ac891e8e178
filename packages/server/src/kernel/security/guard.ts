/** The parameters of rights() for a request, and problems for refusals. */
import { type Operation, type Permission, permissions } from '@headgate/contract';
import { type Read, statement } from '../database/database.ts';
import { type Problem, problem } from '../http/problems.ts';
import type { GuardParameters } from './guarded-read.ts';
import type { RequiredRoles, Scope, Standing } from './permissions.ts';
import type { Place } from './place.ts';

/** The caller, the operation and the place to check. */
export interface Asking {
  operation: Operation;
  call: { scope: Scope; now: Date };
  place: Place;
  roles: RequiredRoles;
}

export function requirePermission(operation: Operation) {
  if (operation.permission === undefined)
    throw new Error(`The operation ${operation.id} declares no permission.`);
  return operation.permission;
}

/** The parameters of rights(), for guarded statements and the entry of a write. */
export function makeGuardParameters({ call, place, roles }: Asking): GuardParameters {
  return {
    account_id: call.scope.accountId,
    principal_id: call.scope.actorId,
    user_credential_id: call.scope.userCredentialId ?? null,
    second_principal_id: call.scope.secondActorId ?? null,
    project_id: place.projectId,
    environment_of_rights: place.environmentName,
    account_roles: roles.account,
    project_roles: roles.project,
    environment_roles: roles.environment,
    now: call.now,
  };
}

export async function findRefusal(
  read: Read,
  standing: Standing,
  { operation, call, place }: Asking,
): Promise<Problem | undefined> {
  switch (standing) {
    case 'permitted':
      return undefined;
    case 'inactive':
      return problem('token-invalid', {
        reason: 'its credential or user was deleted, deactivated or has expired.',
      });
    case 'forbidden':
      return explainForbidden(read, call.scope, requirePermission(operation), place);
    case 'unknown':
      return place.unknown?.() ?? problem('project-not-found', { projectId: place.projectId ?? '' });
  }
}

const anyOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const selectRoles = statement(
  {
    parameters: { account_id: 'uuid', principal_id: 'uuid', project_id: 'uuid?' },
    row: { role: 'text', environment_name: 'text?', of_account: 'boolean' },
  },
  `
  select role, null as environment_name, true as of_account
  from account_role where account_id = $account_id and principal_id = $principal_id
  union
  select role, environment_name, false
  from place_role where account_id = $account_id and principal_id = $principal_id and project_id = $project_id
  order by of_account desc, environment_name nulls first, role`,
);

/** A problem that names the missing permission, the roles that have it, and the caller's roles. */
export async function explainForbidden(
  read: Read,
  scope: Scope,
  permission: Permission,
  { projectId, environmentName }: Place,
): Promise<Problem> {
  const held = await read(selectRoles, {
    account_id: scope.accountId,
    principal_id: scope.actorId,
    project_id: projectId,
  });
  const has = held.map((each) => {
    if (each.of_account) return `${each.role} in the account`;
    const { role, environment_name: name } = each;
    return name === null ? `${role} in the project` : `${role} in the environment ${JSON.stringify(name)}`;
  });
  const { may, account, project, environment } = permissions[permission];
  const there =
    environmentName === null ? 'the environment' : `the environment ${JSON.stringify(environmentName)}`;
  const columns: [readonly string[], string][] = [
    [account, 'the account'],
    [projectId === null ? [] : project, 'the project'],
    [projectId === null ? [] : environment, there],
  ];
  const roles = columns
    .filter(([names]) => names.length > 0)
    .map(([names, where]) => `${anyOf.format(names)} in ${where}`);
  return problem('forbidden', { permission, may, roles, has });
}
