/**
 * Reads what a check needs: the secrets that the project names, its environments, and the agents that would
 * read the secrets.
 */
import type { SecretProvider, SecretReference } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { answeringColumns, answeringOf } from '../../workspace/agents/index.ts';
import { secretPlaces } from '../../workspace/connections/index.ts';

const namedSecretRow = {
  /** The secret reference, if the secret has one. */
  reference: 'text?',
  /** The only agent that resolves the reference. */
  agent_id: 'uuid?',
  /** Only for overrides: the environment of the override. */
  environment_name: 'text?',
  named_by: 'text?',
  secretName: 'text',
  secretKey: 'text?',
  vaultName: 'text?',
  vaultType: typed<NonNullable<SecretReference['vaultType']> | null>('text'),
  provider: typed<SecretProvider | null>('text'),
} satisfies ColumnTypes;
export type NamedSecretRow = RowOf<typeof namedSecretRow>;

/**
 * The secrets of the named references. Without names, all secrets of the project, including those of
 * connections: named by a reference, or else by a secret in the vault of the connection's location.
 */
export const namedSecrets = guardedRead(
  { parameters: { names: 'text[]?', limit: 'bigint' }, row: namedSecretRow },
  `
  with place as (
    select used_by, environment_name, coalesce(nullif(properties ->> 'secretName', ''), nullif(properties ->> 'credentialSecretName', '')) as secret_name,
      nullif(properties ->> 'secretKey', '') as secret_key, location ->> 'vaultName' as vault_name, location ->> 'type' as vault_type
    from (${secretPlaces('$account_id', '$project_id')}) named
    where $names::text[] is null
  )
  select r.name as reference, r.agent_id, null::text as environment_name, null::text as named_by, r.secret_name as "secretName",
    r.secret_key as "secretKey", r.vault_name as "vaultName", r.vault_type as "vaultType", r.provider
  from secret_reference r
  where r.account_id = $account_id and r.project_id = $project_id and ($names::text[] is null
    or r.name = any ($names::text[]))
  union all
  select r.name, r.agent_id, p.environment_name, p.used_by, coalesce(r.secret_name, p.secret_name), coalesce(p.secret_key, r.secret_key),
    case when r.name is null then p.vault_name else r.vault_name end,
    case when r.name is null then p.vault_type else r.vault_type end, r.provider
  from place p
  left join secret_reference r on r.account_id = $account_id and r.project_id = $project_id and r.name = p.secret_name
  where p.secret_name is not null
  order by 1 nulls last, "secretName", "secretKey", named_by
  limit $limit`,
);

const environmentRow = {
  name: 'text',
  /** Its default agent, or else the account's only agent. */
  agent_id: 'uuid?',
} satisfies ColumnTypes;
export type EnvironmentRow = RowOf<typeof environmentRow>;

export const checkedEnvironments = guardedRead(
  { parameters: { environment_name: 'text?' }, row: environmentRow },
  `
  select e.name, coalesce(e.default_agent_id, (select min(agent_id::text)::uuid from agent
    where account_id = $account_id having count(*) = 1)) as agent_id
  from environment e
  where e.account_id = $account_id and e.project_id = $project_id and ($environment_name::text is null
    or e.name = $environment_name)
  order by e.name
  limit 1000`,
);

const askedAgentRow = {
  agent_id: 'uuid',
  name: 'text',
  ...answeringColumns,
  restricted: 'boolean',
  /** The environments of the project on its allowlist; '' for all. */
  allowed: 'text[]',
  /** The names that the project may not use in its vaults. */
  ungranted: 'text[]',
} satisfies ColumnTypes;
export type CheckAgentRow = RowOf<typeof askedAgentRow>;

export const agentsOfCheck = guardedRead(
  { parameters: { agent_ids: 'uuid[]', secret_names: 'text[]' }, row: askedAgentRow },
  `
  select a.agent_id, a.name, ${answeringOf('secret-check')}, a.restricted_access as restricted,
    array(select coalesce(p.environment_name, '') from agent_allowed_place p
      where p.account_id = $account_id and p.agent_id = a.agent_id and p.project_id = $project_id order by 1) as allowed,
    array(select named.name from unnest($secret_names::text[]) as named (name)
      where not may_use_vault_name($account_id, $project_id, a.agent_id, named.name)) as ungranted
  from agent a
  where a.account_id = $account_id and a.agent_id = any ($agent_ids::uuid[])`,
);
