/** Which connections and overrides name a secret. */
import type { SecretReference } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database.ts';
import type { Scope } from '../../kernel/permissions.ts';

/**
 * Wherever properties hold a secret's name: of a connection, of its overrides, and of what an environment was made with. Named is a
 * reference by its own name, or by the secret of the vault that it stands for; a key tells secrets of one name apart where both have one.
 */
const naming = statement<{ used_by: string }>(`
  with place as (
    select 'the connection ' || to_json(name) as used_by, details -> 'connectionProperties' as properties
    from connection where account_id = $1 and project_id = $2
    union all
    select 'the override of the connection ' || to_json(connection_name) || ' in the environment ' || to_json(environment_name),
      overrides -> 'connectionProperties'
    from connection_override where account_id = $1 and project_id = $2
    union all
    select 'the connection ' || to_json(o.connection_name) || ' in the environment ' || to_json(o.environment_name), property.value
    from environment_connection_override o, jsonb_each(o.properties) property where o.account_id = $1 and o.project_id = $2
  )
  select used_by from place
  where $3 in (properties ->> 'secretName', properties ->> 'credentialSecretName')
    or ($4 in (properties ->> 'secretName', properties ->> 'credentialSecretName')
      and coalesce(properties ->> 'secretKey' = $5, true))
  order by used_by collate "C" limit $6`);

/** So many of them at most, in words. */
export async function connectionsNaming(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  reference: Pick<SecretReference, 'name' | 'secretName' | 'secretKey'>,
  limit: number,
): Promise<string[]> {
  const { name, secretName, secretKey = null } = reference;
  const rows = await tx.query(naming, [scope.accountId, projectId, name, secretName, secretKey, limit]);
  return rows.map((row) => row.used_by);
}
