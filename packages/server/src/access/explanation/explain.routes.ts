import {
  type AccessExplanation,
  explainAccess,
  nearestName,
  operations,
  type Permission,
  permissions,
  placePermissions,
  shownRoles,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { findRequiredRoles, type Standing } from '../../kernel/security/permissions.ts';
import { environmentExists, explainedPrincipal, type WeighedRole } from './access.store.ts';
import { givesPermission } from './given-permissions.ts';

/** By id, those to which a role in a project can give the right, and the permissions that they need. */
const explained = new Map(
  operations.flatMap(({ id, surface, permission, alsoRequires }) =>
    surface === 'dpc' && permission !== undefined && placePermissions.includes(permission)
      ? [[id, { permission, alsoRequires }] as const]
      : [],
  ),
);
const words = {
  permitted: 'PERMITTED',
  forbidden: 'FORBIDDEN',
  unknown: 'UNKNOWN',
  inactive: 'INACTIVE',
} as const;

export function explainRoutes({ read }: Endpoints): void {
  read(explainAccess, async ({ query, rows }) => {
    const { principalId: id, operation: operationId, environmentName } = query;
    // First, because it checks the caller.
    const environments = await rows(environmentExists, { name: environmentName ?? '' });
    const needed = explained.get(operationId);
    if (needed === undefined)
      throw problem('operation-not-of-project', {
        id: operationId,
        nearest: nearestName(operationId, explained.keys()),
      });
    if (environmentName !== undefined)
      requireRow(environments, () => problem('unknown-environment', { name: environmentName }));
    const explain = async (permission: Permission, environment: string | null) => {
      const required = findRequiredRoles(permission);
      const found = await rows(explainedPrincipal, {
        wanted_principal: id,
        wanted_account_roles: required.account,
        wanted_project_roles: required.project,
        wanted_environment_roles: required.environment,
        wanted_environment: environment,
      });
      const row = requireRow(found, () => problem('principal-not-found', { id }));
      return { row, reason: describe(permission, environment, row) };
    };
    const first = await explain(needed.permission, environmentName ?? null);
    // The second permission is checked without the environment.
    const second = needed.alsoRequires === undefined ? undefined : await explain(needed.alsoRequires, null);
    const weighed = second === undefined || first.row.weighed !== 'permitted' ? first : second;
    const body: AccessExplanation = {
      allowed: weighed.row.weighed === 'permitted',
      standing: words[weighed.row.weighed],
      principalId: id,
      principalType: first.row.principal_type,
      name: first.row.name,
      operationId,
      ...(environmentName === undefined ? {} : { environmentName }),
      reasons: [first.reason, ...(second === undefined ? [] : [second.reason])],
    };
    return { body };
  });
}

interface Weighed {
  weighed: Standing;
  roles: readonly WeighedRole[];
  custom: readonly { name: string; level: 'PROJECT' | 'ENVIRONMENT' }[];
}

function describe(
  permission: Permission,
  environment: string | null,
  { weighed, roles, custom }: Weighed,
): AccessExplanation['reasons'][number] {
  const allowed = weighed === 'permitted';
  const appliesThere = (role: WeighedRole) =>
    role.level !== 'ENVIRONMENT' || environment === null || role.environmentName === environment;
  const giving = roles.filter((role) => appliesThere(role) && givesPermission(role, permission));
  const { account, project, environment: ofEnvironment } = permissions[permission];
  const named = (level: 'PROJECT' | 'ENVIRONMENT') =>
    custom.filter((each) => each.level === level).map(({ name }) => name);
  const columns = [
    { level: 'ACCOUNT' as const, roles: [...account] },
    { level: 'PROJECT' as const, roles: [...project, ...named('PROJECT')] },
    { level: 'ENVIRONMENT' as const, roles: [...ofEnvironment, ...named('ENVIRONMENT')] },
  ];
  return {
    permission,
    allowed,
    grantedBy: allowed ? giving.slice(0, shownRoles).map(({ permissions: _, ...role }) => role) : [],
    // No role helps a principal that may do nothing.
    wouldAllow: allowed || weighed === 'inactive' ? [] : columns.filter((each) => each.roles.length > 0),
  };
}
