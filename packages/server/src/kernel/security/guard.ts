/** The parameters of rights() for a request, and problems for refusals. */
import { type Operation, type Permission, permissions } from '@headgate/contract';
import { type Read, statement, typed } from '../database/database.ts';
import { type Problem, problem } from '../http/problems.ts';
import type { GuardParameters } from './guarded-read.ts';
import { InactiveCaller } from './inactive-caller.ts';
import { findUserAccessId, type RequiredRoles, type Scope, type Standing } from './permissions.ts';
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
export function makeGuardParameters({ call, place, roles }: Omit<Asking, 'operation'>): GuardParameters {
  return {
    account_id: call.scope.accountId,
    principal_id: call.scope.actorId,
    user_credential_id: findUserAccessId(call.scope),
    other_principal_ids: call.scope.otherActorIds ?? null,
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
  asking: Asking,
): Promise<Problem | undefined> {
  const { operation, call, place } = asking;
  if (standing === 'permitted') return undefined;
  if (call.scope.otherActorIds !== undefined) return explainLack(read, asking);
  switch (standing) {
    case 'inactive':
      return new InactiveCaller(call.scope);
    case 'forbidden':
      return explainForbidden(
        read,
        call.scope,
        requirePermission(operation),
        place,
        await findNarrowing(read, call.scope, place),
      );
    case 'unknown':
      return place.unknown?.() ?? problem('project-not-found', { projectId: place.projectId ?? '' });
  }
}

const anyOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

// For words only, so the clock of PostgreSQL is good enough.
const selectRoles = statement(
  {
    parameters: { account_id: 'uuid', principal_id: 'uuid', project_id: 'uuid?' },
    row: { role: 'text', environment_name: 'text?', of_account: 'boolean' },
  },
  `
  select role, null as environment_name, true as of_account
  from account_role where account_id = $account_id and principal_id = $principal_id
    and (expires_at is null or expires_at > now())
  union
  select role, environment_name, false
  from place_role where account_id = $account_id and principal_id = $principal_id and project_id = $project_id
    and (expires_at is null or expires_at > now())
  order by of_account desc, environment_name nulls first, role`,
);

const findLacking = statement(
  {
    parameters: {
      account_id: 'uuid',
      principal_ids: 'uuid[]',
      project_id: 'uuid?',
      environment_name: 'text?',
      account_roles: typed<string>('text[]'),
      project_roles: typed<string>('text[]'),
      environment_roles: typed<string>('text[]'),
      now: 'timestamptz',
    },
    row: { principal_id: 'uuid', standing: typed<Standing>('text'), name: 'text?', kind: 'text?' },
  },
  `
  select asked.principal_id, held.standing, p.name, p.kind
  from unnest($principal_ids::uuid[]) with ordinality as asked (principal_id, number)
  cross join lateral rights($account_id::uuid, asked.principal_id, $project_id::uuid, $environment_name::text,
    $account_roles::text[], $project_roles::text[], $environment_roles::text[], $now::timestamptz) held
  left join principal p on p.account_id = $account_id and p.principal_id = asked.principal_id
  where held.standing <> 'permitted'
  order by array_position('{inactive,unknown,forbidden}', held.standing), asked.number limit 1`,
);

const selectNarrowing = statement(
  {
    parameters: { account_id: 'uuid', personal_token_id: 'uuid', project_id: 'uuid?' },
    row: { name: 'text', account_role: 'text', roles: typed<string[]>('text[]') },
  },
  `
  select t.name, t.account_role, array(
      select case when r."environmentName" is null then r.role || ' in the project'
        else r.role || ' in the environment ' || to_json(r."environmentName") end
      from jsonb_to_recordset(t.roles) as r ("projectId" uuid, "environmentName" text, role text)
      where r."projectId" = $project_id) as roles
  from personal_token t
  where t.account_id = $account_id and t.personal_token_id = $personal_token_id and t.account_role is not null`,
);

/** What a narrowed personal token has, as the holder; the user of the token may have more. */
async function findNarrowing(
  read: Read,
  { accountId, userCredentialId }: Scope,
  { projectId }: Place,
): Promise<{ who: string; has: string[] } | undefined> {
  if (userCredentialId === undefined) return undefined;
  const parameters = {
    account_id: accountId,
    personal_token_id: userCredentialId,
    project_id: projectId,
  };
  const [token] = await read(selectNarrowing, parameters);
  if (token === undefined) return undefined;
  const who = `The personal token ${JSON.stringify(token.name)} or its user`;
  return { who, has: [`${token.account_role} in the account`, ...token.roles] };
}

/** For a call that needs the rights of several principals: names the one that lacks them. */
async function explainLack(read: Read, { operation, call, place, roles }: Asking): Promise<Problem> {
  const { scope, now } = call;
  const [lacking] = await read(findLacking, {
    account_id: scope.accountId,
    principal_ids: [scope.actorId, ...(scope.otherActorIds ?? [])],
    project_id: place.projectId,
    environment_name: place.environmentName,
    account_roles: roles.account,
    project_roles: roles.project,
    environment_roles: roles.environment,
    now,
  });
  // The rights may have come back in between.
  if (lacking === undefined) return explainForbidden(read, scope, requirePermission(operation), place);
  const { principal_id: actorId, name, kind, standing } = lacking;
  const who = name === null ? `The principal ${actorId}` : `The ${kind} ${JSON.stringify(name)}`;
  const has =
    standing === 'inactive' ? ['nothing, as it was deleted, deactivated or has expired'] : undefined;
  return explainForbidden(read, { ...scope, actorId }, requirePermission(operation), place, { who, has });
}

/** A problem that names the missing permission, the roles that have it, and the caller's roles. */
export async function explainForbidden(
  read: Read,
  scope: Scope,
  permission: Permission,
  { projectId, environmentName }: Place,
  { who, has: known }: { who?: string; has?: readonly string[] | undefined } = {},
): Promise<Problem> {
  const held = await read(selectRoles, {
    account_id: scope.accountId,
    principal_id: scope.actorId,
    project_id: projectId,
  });
  const described = held.map((each) => {
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
  return problem('forbidden', { permission, may, roles, has: known ?? described, who });
}
