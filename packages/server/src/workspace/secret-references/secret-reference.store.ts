/** The table `secret_reference`. */
import type { SecretReference } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { findProvider } from './secret-reference.ts';

/** The returned columns by their API names; null columns are omitted. */
const secretReferenceRow = {
  name: 'text',
  type: typed<SecretReference['type']>('text'),
  secretName: 'text',
  secretKey: 'text?',
  vaultName: 'text?',
  vaultType: typed<NonNullable<SecretReference['vaultType']> | null>('text'),
  provider: typed<NonNullable<SecretReference['provider']> | null>('text'),
  agentType: typed<NonNullable<SecretReference['agentType']> | null>('text'),
  agentId: 'uuid?',
  description: 'text?',
} satisfies ColumnTypes;
export type SecretReferenceRow = RowOf<typeof secretReferenceRow>;

const columns = `name, type, secret_name as "secretName", secret_key as "secretKey", vault_name as "vaultName", vault_type as "vaultType",
  provider, agent_type as "agentType", agent_id as "agentId", description`;
const filters = `account_id = $account_id and project_id = $project_id and type = $type
  and ($provider::text is null or type = 'PASSWORD' or provider_of_vault = $provider)`;

export const secretReferencePage = guardedPage(
  {
    parameters: { type: 'text', provider: 'text?', limit: 'bigint', offset: 'bigint' },
    row: secretReferenceRow,
  },
  {
    rows: `select ${columns} from secret_reference where ${filters} order by name limit $limit offset $offset`,
    total: `select count(*)::bigint as total from secret_reference where ${filters}`,
  },
);

/** Which of the names exist. */
export const secretReferencesAmong = guardedRead(
  { parameters: { names: 'text[]' }, row: { name: 'text' } },
  'select name from secret_reference where account_id = $account_id and project_id = $project_id and name = any ($names::text[])',
);

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      type: 'text',
      secret_name: 'text',
      secret_key: 'text?',
      vault_name: 'text?',
      vault_type: 'text?',
      provider: 'text?',
      provider_of_vault: 'text?',
      agent_type: 'text?',
      agent_id: 'uuid?',
      description: 'text?',
      created_at: 'timestamptz',
    },
  },
  `
  insert into secret_reference (account_id, project_id, name, type, secret_name, secret_key, vault_name, vault_type, provider,
    provider_of_vault, agent_type, agent_id, description, created_at)
  values ($account_id, $project_id, $name, $type, $secret_name, $secret_key, $vault_name, $vault_type, $provider,
    $provider_of_vault, $agent_type, $agent_id, $description, $created_at)`,
);

/** Throws `secret-reference-taken` and `unknown-agent`. */
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
  tx.send(insertOne, {
    account_id: scope.accountId,
    project_id: projectId,
    name,
    type,
    secret_name: reference.secretName,
    secret_key: reference.secretKey ?? null,
    vault_name: reference.vaultName ?? null,
    vault_type: reference.vaultType ?? null,
    provider: reference.provider ?? null,
    provider_of_vault: findProvider(reference) ?? null,
    agent_type: reference.agentType ?? null,
    agent_id: agentId ?? null,
    description: reference.description ?? null,
    created_at: now,
  });
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' }, row: secretReferenceRow },
  `
  select ${columns} from secret_reference where account_id = $account_id and project_id = $project_id
    and name = $name for update`,
);

/** Throws `secret-reference-not-found`. */
export async function lockSecretReference(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  name: string,
): Promise<SecretReference> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, project_id: projectId, name });
  const row = requireRow(found, () => problem('secret-reference-not-found', { name }));
  return presentSecretReference(row);
}

export const deleteSecretReferenceRow = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' } },
  'delete from secret_reference where account_id = $account_id and project_id = $project_id and name = $name',
);

export function presentSecretReference(row: SecretReferenceRow): SecretReference {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as SecretReference;
}
