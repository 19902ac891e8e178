/** What a check is made from: the secrets that the project names, its environments, and the agents that would read them. */
import type { SecretProvider, SecretReference } from '@headgate/contract';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { connectedSeconds } from '../../workspace/agents/index.ts';
import { secretPlaces } from '../../workspace/connections/index.ts';

export interface NamedSecretRow {
  /** The secret reference, when one leads there. */
  reference: string | null;
  /** The only agent that resolves the reference. */
  agent_id: string | null;
  /** Of an override: the only environment in which it counts. */
  environment_name: string | null;
  named_by: string | null;
  secretName: string;
  secretKey: string | null;
  vaultName: string | null;
  vaultType: NonNullable<SecretReference['vaultType']> | null;
  provider: SecretProvider | null;
}

/**
 * Without names those of connections, too: by the name of a reference, or else of a secret in the vault of their location. Parameters: names of
 * references or null, limit.
 */
export const namedSecrets = guardedRead<NamedSecretRow>(`
  with place as (
    select used_by, environment_name, coalesce(nullif(properties ->> 'secretName', ''), nullif(properties ->> 'credentialSecretName', '')) as secret_name,
      nullif(properties ->> 'secretKey', '') as secret_key, location ->> 'vaultName' as vault_name, location ->> 'type' as vault_type
    from (${secretPlaces('$1', '$3')}) named
    where $9::text[] is null
  )
  select r.name as reference, r.agent_id, null::text as environment_name, null::text as named_by, r.secret_name as "secretName",
    r.secret_key as "secretKey", r.vault_name as "vaultName", r.vault_type as "vaultType", r.provider
  from secret_reference r
  where r.account_id = $1 and r.project_id = $3 and ($9::text[] is null or r.name = any ($9::text[]))
  union all
  select r.name, r.agent_id, p.environment_name, p.used_by, coalesce(r.secret_name, p.secret_name), coalesce(p.secret_key, r.secret_key),
    case when r.name is null then p.vault_name else r.vault_name end,
    case when r.name is null then p.vault_type else r.vault_type end, r.provider
  from place p
  left join secret_reference r on r.account_id = $1 and r.project_id = $3 and r.name = p.secret_name
  where p.secret_name is not null
  order by 1 nulls last, "secretName", "secretKey", named_by
  limit $10`);

export interface EnvironmentRow {
  name: string;
  /** Its default agent, else the account's only one. */
  agent_id: string | null;
}

/** Parameter: a name or null. */
export const checkedEnvironments = guardedRead<EnvironmentRow>(`
  select e.name, coalesce(e.default_agent_id, (select min(agent_id::text)::uuid from agent where account_id = $1 having count(*) = 1)) as agent_id
  from environment e
  where e.account_id = $1 and e.project_id = $3 and ($9::text is null or e.name = $9)
  order by e.name
  limit 1000`);

export interface AskedAgentRow {
  agent_id: string;
  name: string;
  paused: boolean;
  connected: boolean;
  /** Some instance that is connected knows this kind of work. */
  able: boolean;
  restricted: boolean;
  /** Environments of the project on its allowlist; '' for all of them. */
  allowed: string[];
}

const instance = (condition: string) => `exists (
    select from agent_instance i
    where i.account_id = a.account_id and i.agent_id = a.agent_id and not i.stopping
      and i.last_seen_at > $8::timestamptz - interval '${connectedSeconds} seconds' and ${condition})`;

/** Parameter: agents. */
export const askedAgents = guardedRead<AskedAgentRow>(`
  select a.agent_id, a.name, a.paused, a.restricted_access as restricted, ${instance('true')} as connected,
    ${instance("not i.restart_requested and 'secret-check' = any (i.abilities)")} as able,
    array(select coalesce(p.environment_name, '') from agent_allowed_place p
      where p.account_id = $1 and p.agent_id = a.agent_id and p.project_id = $3 order by 1) as allowed
  from agent a
  where a.account_id = $1 and a.agent_id = any ($9::uuid[])`);
