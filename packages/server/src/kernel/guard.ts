/** What a request asks for, as rights() takes it, and a refusal in words for the caller. */
import { type Operation, permissions } from '@headgate/contract';
import type { Parameter } from './database.ts';
import type { RequiredRoles, Scope, Standing } from './permissions.ts';
import { type Problem, problem } from './problems.ts';

/** Who asks for which operation, with the parts of the request that may name a project or an environment. */
export interface Asking {
  operation: Operation;
  call: { scope: Scope; now: Date };
  roles: RequiredRoles;
}

export function permissionOf(operation: Operation) {
  if (operation.permission === undefined)
    throw new Error(`The operation ${operation.id} declares no permission.`);
  return operation.permission;
}

/** The first eight parameters of every guarded statement, and of the entry of a write. */
export function guardParameters({ operation, call, roles }: Asking): Parameter[] {
  return [
    call.scope.accountId,
    call.scope.actorId,
    projectOf(call),
    environmentOf(operation, call),
    roles.account,
    roles.project,
    roles.environment,
    call.now,
  ];
}

function projectOf(call: object): string | null {
  const { params } = call as { params?: { projectId?: string } };
  return params?.projectId ?? null;
}

/**
 * The environment that an operation names, wherever its contract names it; of two, the one that is written to. With none, a role in any
 * environment lets it begin.
 */
function environmentOf(operation: Operation, call: object): string | null {
  type Naming = { environmentName?: unknown; targetEnvironmentName?: unknown } | undefined;
  const { params, body, headers } = call as { params?: Naming; body?: Naming; headers?: Naming };
  const inBody = (['environmentName', 'targetEnvironmentName'] as const)
    .filter((member) => declares(operation.body, member))
    .map((member) => body?.[member])[0];
  const named = params?.environmentName ?? headers?.environmentName ?? inBody;
  return typeof named === 'string' && projectOf(call) !== null ? named : null;
}

function declares(schema: Operation['body'], member: string): boolean {
  return schema !== undefined && 'properties' in schema && member in (schema.properties as object);
}

export function refusal(standing: Standing, { operation, call }: Asking): Problem | undefined {
  if (standing === 'permitted') return undefined;
  if (standing === 'inactive')
    return problem('token-invalid', { reason: 'its credential was revoked or has expired.' });
  if (standing === 'forbidden')
    return problem('forbidden', { may: permissions[permissionOf(operation)].may });
  return problem('project-not-found', { projectId: projectOf(call) ?? '' });
}
