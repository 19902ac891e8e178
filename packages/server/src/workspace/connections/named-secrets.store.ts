/** Which connections and overrides name a secret, and which secrets they name. */
import type { SecretReference } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

/**
 * SQL: every place where properties name a secret: connections, their overrides, and the settings of an
 * environment. An override without a location uses that of its connection. Warehouse connections and
 * environments have several properties, each with its own secret.
 */
export const secretPlaces = (account: string, project: string) => `
  select 'the connection ' || to_json(name) as used_by, null::text as environment_name, details -> 'connectionProperties' as properties,
    details -> 'secretsLocation' as location
  from connection where account_id = ${account} and project_id = ${project} and platform_connection_type <> 'DWH'
  union all
  select 'the connection ' || to_json(c.name), null::text, property.value, null::jsonb
  from connection c, jsonb_each(c.details -> 'connectionProperties') property
  where c.account_id = ${account} and c.project_id = ${project} and c.platform_connection_type = 'DWH'
  union all
  select 'the override of the connection ' || to_json(o.connection_name) || ' in the environment ' || to_json(o.environment_name),
    o.environment_name, o.overrides -> 'connectionProperties', coalesce(o.overrides -> 'secretsLocation', c.details -> 'secretsLocation')
  from connection_override o
  join connection c on c.account_id = o.account_id and c.project_id = o.project_id and c.name = o.connection_name
  where o.account_id = ${account} and o.project_id = ${project}
  union all
  select 'the connection ' || to_json(o.connection_name) || ' in the environment ' || to_json(o.environment_name),
    o.environment_name, property.value, c.details -> 'secretsLocation'
  from environment_connection_override o
  join connection c on c.account_id = o.account_id and c.project_id = o.project_id and c.name = o.connection_name,
    jsonb_each(o.properties) property
  where o.account_id = ${account} and o.project_id = ${project}`;

/**
 * A reference is named by its own name, or by the vault secret that it stands for. If both have a key, the
 * keys must be equal, too.
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
    row: { used_by: 'text' },
  },
  `
  with place as (${secretPlaces('$account_id', '$project_id')})
  select used_by from place
  where $name in (properties ->> 'secretName', properties ->> 'credentialSecretName')
    or ($secret_name in (properties ->> 'secretName', properties ->> 'credentialSecretName')
      and coalesce(properties ->> 'secretKey' = $secret_key, true))
  group by used_by order by used_by collate "C" limit $limit`,
);

/** Returns descriptions for messages, at most `limit`. */
export async function listConnectionsNaming(
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
  return rows.map((row) => row.used_by);
}
