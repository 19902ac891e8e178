/** The table `secret_reference`. */
import type { SecretReference } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { providerOf } from './secret-reference.ts';

/** The columns that are shown, in the words of the interface; those that are null are left out. */
export type SecretReferenceRow = {
  [Member in keyof SecretReference]-?: SecretReference[Member] | null;
};

const columns = `name, type, secret_name as "secretName", secret_key as "secretKey", vault_name as "vaultName", vault_type as "vaultType",
  provider, agent_type as "agentType", agent_id as "agentId", description`;
const filters = `account_id = $1 and project_id = $3 and type = $9
  and ($10::text is null or type = 'PASSWORD' or provider_of_vault = $10)`;

/** Parameters: type, provider or null, limit, offset. */
export const secretReferencePage = guardedPage<SecretReferenceRow>({
  rows: `select ${columns} from secret_reference where ${filters} order by name limit $11 offset $12`,
  total: `select count(*)::bigint as total from secret_reference where ${filters}`,
});

/** Those of the names that there are. Parameters: names. */
export const secretReferencesAmong = guardedRead<{ name: string }>(
  'select name from secret_reference where account_id = $1 and project_id = $3 and name = any ($9::text[])',
);

const insertOne = statement(`
  insert into secret_reference (account_id, project_id, name, type, secret_name, secret_key, vault_name, vault_type, provider,
    provider_of_vault, agent_type, agent_id, description, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`);

/** Answers by problems: `secret-reference-taken`, `unknown-agent`. */
export function insertSecretReference(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  reference: SecretReference,
  now: Date,
): void {
  const { name, type, agentId } = reference;
  tx.onConstraint('secret_reference_taken', () => problem('secret-reference-taken', { name }));
  tx.onConstraint('secret_reference_of_agent', () => problem('unknown-agent', { id: agentId ?? '' }));
  tx.send(insertOne, [
    scope.accountId,
    projectId,
    name,
    type,
    reference.secretName,
    reference.secretKey ?? null,
    reference.vaultName ?? null,
    reference.vaultType ?? null,
    reference.provider ?? null,
    providerOf(reference) ?? null,
    reference.agentType ?? null,
    agentId ?? null,
    reference.description ?? null,
    now,
  ]);
}

const lockOne = statement<SecretReferenceRow>(`
  select ${columns} from secret_reference where account_id = $1 and project_id = $2 and name = $3 for update`);

/** Throws `secret-reference-not-found`. */
export async function lockSecretReference(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<SecretReference> {
  const [row] = await tx.query(lockOne, [scope.accountId, projectId, name]);
  if (row === undefined) throw problem('secret-reference-not-found', { name });
  return presentSecretReference(row);
}

const deleteOne = statement(
  'delete from secret_reference where account_id = $1 and project_id = $2 and name = $3',
);

export function deleteSecretReferenceRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): void {
  tx.send(deleteOne, [scope.accountId, projectId, name]);
}

export function presentSecretReference(row: SecretReferenceRow): SecretReference {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as SecretReference;
}
