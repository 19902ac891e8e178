/** Nobody gives a permission that they do not have. */
import type { Permission } from '@headgate/contract';
import { statement, type Transaction, typed } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  findRequiredRoles,
  findUserAccessId,
  type Scope,
  type Standing,
} from '../../kernel/security/permissions.ts';

const weighOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      principal_id: 'uuid',
      project_id: 'uuid?',
      environment_name: 'text?',
      account_roles: typed<string>('text[]'),
      project_roles: typed<string>('text[]'),
      environment_roles: typed<string>('text[]'),
      now: 'timestamptz',
      user_credential_id: 'uuid?',
      other_principal_ids: 'uuid[]?',
    },
    row: { standing: typed<Standing>('text') },
  },
  `select standing from rights($account_id::uuid, $principal_id::uuid, $project_id::uuid, $environment_name::text,
    $account_roles::text[], $project_roles::text[], $environment_roles::text[], $now::timestamptz,
    $user_credential_id::uuid, $other_principal_ids::uuid[])`,
);

/** Null and null: in the whole account. */
export interface PlaceOfGrant {
  projectId: string | null;
  environmentName: string | null;
}

/** Throws `permissions-not-held`. */
export async function requireHeldPermissions(
  tx: Transaction,
  { scope, now }: { scope: Scope; now: Date },
  permissions: readonly Permission[],
  { projectId, environmentName }: PlaceOfGrant,
): Promise<void> {
  const standings = await Promise.all(
    permissions.map(async (permission) => {
      const roles = findRequiredRoles(permission);
      const [weighed] = await tx.query(weighOne, {
        account_id: scope.accountId,
        principal_id: scope.actorId,
        project_id: projectId,
        environment_name: environmentName,
        account_roles: roles.account,
        project_roles: roles.project,
        environment_roles: roles.environment,
        now,
        user_credential_id: findUserAccessId(scope),
        other_principal_ids: scope.otherActorIds ?? null,
      });
      return weighed?.standing;
    }),
  );
  const lacking = permissions.filter((_, index) => standings[index] !== 'permitted');
  if (lacking.length > 0) throw problem('permissions-not-held', { lacking });
}
