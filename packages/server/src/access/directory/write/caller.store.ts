/** Whether the caller may change what a Directory credential may not. */
import { statement, type Transaction } from '../../../kernel/database/database.ts';
import { findUserAccessId, type Scope } from '../../../kernel/security/permissions.ts';

const selectCaller = statement(
  {
    parameters: {
      account_id: 'uuid',
      actor_id: 'uuid',
      now: 'timestamptz',
      user_credential_id: 'uuid?',
      other_principal_ids: 'uuid[]?',
    },
    row: { standing: 'text' },
  },
  `
  select standing
  from rights($account_id::uuid, $actor_id::uuid, null, null, '{SUPER_ADMIN}', '{}', '{}', $now::timestamptz,
    $user_credential_id::uuid, $other_principal_ids::uuid[])`,
);

export async function isSuperAdminCaller(tx: Transaction, scope: Scope, now: Date): Promise<boolean> {
  const [row] = await tx.query(selectCaller, {
    account_id: scope.accountId,
    actor_id: scope.actorId,
    now,
    user_credential_id: findUserAccessId(scope),
    other_principal_ids: scope.otherActorIds ?? null,
  });
  return row?.standing === 'permitted';
}
