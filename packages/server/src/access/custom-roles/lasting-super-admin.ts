/** Whoever is a Super Admin for a time makes nobody one for longer. A credential with an end is one too. */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { inEffect } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const selectOwnEnd = statement(
  {
    parameters: { account_id: 'uuid', principal_id: 'uuid', now: 'timestamptz' },
    row: { ends_at: 'timestamptz?' },
  },
  `
  select case when bool_and(coalesce(r.expires_at, c.expires_at) is not null) then max(coalesce(r.expires_at, c.expires_at)) end
    as ends_at
  from account_role r
  left join credential c on c.account_id = r.account_id and c.credential_id = r.principal_id
  where r.account_id = $account_id and r.principal_id = $principal_id and r.role = 'SUPER_ADMIN' and ${inEffect('r')}`,
);

/** Throws `super-admin-for-a-time` if the caller is a Super Admin only until before `until`; null: for ever. */
export async function requireLastingSuperAdmin(
  tx: Transaction,
  { scope, now }: { scope: Scope; now: Date },
  until: Date | null,
): Promise<void> {
  const of = { account_id: scope.accountId, principal_id: scope.actorId, now };
  const end = (await tx.query(selectOwnEnd, of))[0]?.ends_at ?? null;
  if (end !== null && (until === null || until > end))
    throw problem('super-admin-for-a-time', { until: end.toISOString() });
}
