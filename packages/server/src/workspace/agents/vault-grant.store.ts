/** The table `vault_grant`: which names of the vaults of agents each project may use (docs/adr/0083). */
import { permissions, type VaultAccess, vaultNameLimit } from '@headgate/contract';
import { statement, type Transaction, typed } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import { encodeRoles, type Scope, type Standing } from '../../kernel/security/permissions.ts';

/** SQL: the grants of the agent `a`, by project. They include those for every agent. */
export const vaultAccessColumn = `(
    select json_object_agg(project_id, json_build_object('prefixes', prefixes, 'names', names) order by project_id)
    from (
      select g.project_id, coalesce(json_agg(distinct g.name) filter (where g.is_prefix), '[]') as prefixes,
        coalesce(json_agg(distinct g.name) filter (where not g.is_prefix), '[]') as names
      from vault_grant g
      where g.account_id = a.account_id and (g.agent_id = a.agent_id or g.agent_id is null)
      group by g.project_id) by_project) as vault_access`;

const findUngranted = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      agent_id: 'uuid?',
      names: 'text[]',
      or_reference: 'boolean',
    },
    row: { name: 'text' },
  },
  `
  select named.name from unnest($names::text[]) with ordinality as named (name, position)
  where not may_use_vault_name($account_id, $project_id, $agent_id, named.name)
    and not ($or_reference and exists (
      select from secret_reference r
      where r.account_id = $account_id and r.project_id = $project_id and r.name = named.name))
  order by named.position`,
);

export interface NamedInVault {
  projectId: string;
  /** Null: the agent of the environment in which the name is used. */
  agentId: string | null;
  names: readonly string[];
  /** Whether a name may also be that of a secret reference of the project. */
  orReference: boolean;
}

/** Returns the names that the project may not use. */
export async function findUngrantedNames(
  tx: Transaction,
  scope: Scope,
  { projectId, agentId, names, orReference }: NamedInVault,
): Promise<string[]> {
  const rows = await tx.query(findUngranted, {
    account_id: scope.accountId,
    project_id: projectId,
    agent_id: agentId,
    names: [...new Set(names)],
    or_reference: orReference,
  });
  return rows.map(({ name }) => name);
}

const selectGranter = statement(
  {
    parameters: {
      account_id: 'uuid',
      principal_id: 'uuid',
      account_roles: typed<string>('text[]'),
      now: 'timestamptz',
      user_credential_id: 'uuid?',
      other_principal_ids: 'uuid[]?',
      project_id: 'uuid',
      limit: 'bigint',
    },
    row: { standing: typed<Standing>('text'), granted: 'text[]', count: 'integer' },
  },
  `
  select held.standing,
    array(select name || case when is_prefix then '*' else '' end from vault_grant
      where account_id = $account_id and project_id = $project_id
      group by name, is_prefix order by is_prefix desc, name limit $limit) as granted,
    (select count(distinct (name, is_prefix))::integer from vault_grant
      where account_id = $account_id and project_id = $project_id) as count
  from rights($account_id, $principal_id, null, null, $account_roles, '{}', '{}', $now, $user_credential_id,
    $other_principal_ids) held`,
);

export interface Granter {
  mayGrant: boolean;
  /** Some of the names that are granted to the project. A prefix ends with `*`. */
  granted: string[];
  /** How many there are. */
  count: number;
}

/** Whether the caller may grant names to projects, and what is granted to the project. */
export async function findGranter(
  tx: Transaction,
  scope: Scope,
  { projectId, limit, now }: { projectId: string; limit: number; now: Date },
): Promise<Granter> {
  const [row] = await tx.query(selectGranter, {
    account_id: scope.accountId,
    principal_id: scope.actorId,
    account_roles: encodeRoles(permissions['agents:manage'].account),
    now,
    user_credential_id: scope.userCredentialId ?? null,
    other_principal_ids: scope.otherActorIds ?? null,
    project_id: projectId,
    limit,
  });
  return { mayGrant: row?.standing === 'permitted', granted: row?.granted ?? [], count: row?.count ?? 0 };
}

const insertNames = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', agent_id: 'uuid?', names: 'text[]' } },
  `
  insert into vault_grant (account_id, project_id, agent_id, name, is_prefix)
  select $account_id, $project_id, $agent_id, name, false from unnest($names::text[]) as wanted (name)
  order by name on conflict do nothing`,
);

/** Throws `unknown-agent`. */
export function insertVaultNames(
  tx: Transaction,
  scope: Scope,
  { projectId, agentId, names }: Omit<NamedInVault, 'orReference'>,
): void {
  tx.onConstraint('vault_grant_of_agent', () => problem('unknown-agent', { id: agentId ?? '' }));
  tx.send(insertNames, {
    account_id: scope.accountId,
    project_id: projectId,
    agent_id: agentId,
    names: [...names],
  });
}

// A name that every agent has, and that is not in the new entry, stays with the other agents.
const replaceEntries = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', project_ids: 'uuid[]', wanted: 'jsonb' } },
  `
  with wanted as materialized (
    select distinct "projectId" as project_id, name, "isPrefix" as is_prefix
    from jsonb_to_recordset($wanted) as w ("projectId" uuid, name text, "isPrefix" boolean)
  ), dropped as (
    delete from vault_grant g
    where g.account_id = $account_id and g.project_id = any ($project_ids::uuid[]) and (g.agent_id = $agent_id or g.agent_id is null)
      and not exists (
        select from wanted w where w.project_id = g.project_id and w.name = g.name and w.is_prefix = g.is_prefix)
    returning g.project_id, g.agent_id, g.name, g.is_prefix
  ), kept as (
    insert into vault_grant (account_id, project_id, agent_id, name, is_prefix)
    select $account_id, d.project_id, other.agent_id, d.name, d.is_prefix
    from dropped d
    join agent other on other.account_id = $account_id and other.agent_id <> $agent_id
    where d.agent_id is null
    on conflict do nothing
  )
  insert into vault_grant (account_id, project_id, agent_id, name, is_prefix)
  select $account_id, w.project_id, $agent_id, w.name, w.is_prefix
  from wanted w
  where not exists (
    select from vault_grant g
    where g.account_id = $account_id and g.project_id = w.project_id and g.agent_id is null and md5(g.name) = md5(w.name)
      and g.name = w.name and g.is_prefix = w.is_prefix)
  on conflict do nothing`,
);

const lastOfKey = /, ([^,]*)\) is not present/;

/** Replaces the entries of the projects that `access` names. Throws `unknown-project`. */
export function replaceVaultAccess(
  tx: Transaction,
  scope: Scope,
  agentId: string,
  { projects }: VaultAccess,
): void {
  const projectIds = Object.keys(projects);
  const unknown = projectIds.find((id) => !isUuid(id));
  if (unknown !== undefined) throw problem('unknown-project', { id: unknown });
  const grants = Object.entries(projects).flatMap(([projectId, { prefixes = [], names = [] }]) => [
    ...prefixes.map((name) => ({ projectId, name, isPrefix: true })),
    ...names.map((name) => ({ projectId, name, isPrefix: false })),
  ]);
  tx.onConstraint('vault_grant_in_project', ({ detail }) =>
    problem('unknown-project', { id: lastOfKey.exec(detail ?? '')?.[1] ?? '' }),
  );
  tx.send(replaceEntries, {
    account_id: scope.accountId,
    agent_id: agentId,
    project_ids: projectIds,
    wanted: JSON.stringify(grants),
  });
}

/** Throws `too-many-vault-names`. */
export function requireRoomForGrants(count: number, added: number): void {
  if (count + added > vaultNameLimit) throw problem('too-many-vault-names', { limit: vaultNameLimit });
}
