/** Which streaming pipelines name a secret. */
import type { SecretReference } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

/**
 * A reference is named by its own name, or by the vault secret that it stands for. If both have a key, the keys
 * must be equal, too.
 */
const naming = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      secret_name: 'text',
      secret_key: 'text?',
      limit: 'bigint',
    },
    row: { name: 'text' },
  },
  `
  select p.name from streaming_pipeline p
  where p.account_id = $account_id and p.project_id = $project_id and exists (
    select from unnest(array[
      p.source #> '{connection,password}',
      p.target -> 'accountKey',
      p.target #> '{connection,password}',
      p.target #> '{connection,authentication,privateKey}',
      p.target #> '{connection,authentication,passphrase}']) as secret
    where secret ->> 'secretName' = $name
      or (secret ->> 'secretName' = $secret_name and coalesce(secret ->> 'secretKey' = $secret_key, true)))
  order by p.name limit $limit`,
);

/** Returns descriptions for messages, at most `limit`. */
export async function listStreamingPipelinesNaming(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  reference: Pick<SecretReference, 'name' | 'secretName' | 'secretKey'>,
  limit: number,
): Promise<string[]> {
  const { name, secretName, secretKey = null } = reference;
  const rows = await tx.query(naming, {
    account_id: scope.accountId,
    project_id: projectId,
    name,
    secret_name: secretName,
    secret_key: secretKey,
    limit,
  });
  return rows.map((row) => `the streaming pipeline ${JSON.stringify(row.name)}`);
}
