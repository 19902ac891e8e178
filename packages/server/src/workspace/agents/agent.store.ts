/** The table `agent`. */
import { createHash } from 'node:crypto';
import {
  type Agent,
  type AgentStatus,
  type AgentSummary,
  type AgentWeight,
  permissions,
  type VaultAccess,
} from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid, toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import { hasLiveInstance } from './agent.status.ts';
import { sealForStorage } from './agent-secret.store.ts';
import { vaultAccessColumn } from './vault-grant.store.ts';

const summaryRow = {
  agent_id: 'uuid',
  name: 'text',
  description: 'text',
  agent_type: typed<AgentSummary['agentType']>('text'),
  cloud_provider: 'text',
  deployment: 'text',
  status: typed<AgentStatus>('text'),
  paused_until: 'timestamptz?',
  connected: 'boolean',
} satisfies ColumnTypes;
type SummaryRow = RowOf<typeof summaryRow>;

const agentRow = {
  ...summaryRow,
  track_name: typed<Agent['versionDetails']['trackName']>('text'),
  enable_auto_updates: 'boolean',
  restricted_access: 'boolean',
  environment_share: 'integer',
  weights: typed<AgentWeight[]>('jsonb'),
  agent_version: 'text',
  version: 'bigint',
  /** By project; null without any. */
  vault_access: typed<VaultAccess['projects'] | null>('json'),
} satisfies ColumnTypes;
export type AgentRow = RowOf<typeof agentRow>;

const renderSummaryColumns = (
  now: string,
) => `a.agent_id, a.name, a.description, a.agent_type, a.cloud_provider, a.deployment, a.status,
    a.paused_until, ${hasLiveInstance(now)} as connected`;
const renderColumns = (now: string) =>
  `${renderSummaryColumns(now)}, a.track_name, a.enable_auto_updates, a.restricted_access, a.environment_share, a.weights,
    a.agent_version, a.version, ${vaultAccessColumn}`;

// The id as a range, so that PostgreSQL finds one agent by its key.
const filters = `account_id = $account_id and ($agent_type::text is null or agent_type = $agent_type) and ($status::text is null or status = $status)
  and ($name::text is null or name = $name) and agent_id >= coalesce($agent_id::uuid, '00000000-0000-0000-0000-000000000000')
  and agent_id <= coalesce($agent_id::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')`;

/** The total is null if no agent has the id. */
export const agentPage = guardedPage(
  {
    parameters: {
      agent_type: 'text?',
      status: 'text?',
      name: 'text?',
      agent_id: 'uuid?',
      limit: 'bigint',
      offset: 'bigint',
    },
    row: summaryRow,
    totalType: 'bigint?',
  },
  {
    rows: `
    select ${renderSummaryColumns('$now')}
    from agent a where ${filters} order by created_at desc, agent_id desc limit $limit offset $offset`,
    total: `
    select case when $agent_id::uuid is null or exists (select from agent where account_id = $account_id
      and agent_id = $agent_id)
      then (select count(*) from agent where ${filters})::bigint end as total`,
  },
);

/** The roles that may manage agents. */
const managers = permissions['agents:manage'].account.map((role) => `'${role}'`).join(', ');

export const agentById = guardedRead(
  {
    parameters: { agent_id: 'uuid' },
    row: { ...agentRow, may_manage: 'boolean' },
  },
  `select ${renderColumns('$now')}, exists (
      select from account_role r
      where r.account_id = $account_id and r.principal_id = $principal_id and r.role in (${managers})
        and ${inEffect('r')}) as may_manage
  from agent a where a.account_id = $account_id and a.agent_id = $agent_id`,
);

export function presentSummary(row: SummaryRow): AgentSummary {
  const { status, paused_until: until } = row;
  return {
    agentId: row.agent_id,
    agentStatus: status,
    agentType: row.agent_type,
    cloudProvider: row.cloud_provider,
    connected: row.connected,
    deployment: row.deployment,
    description: row.description,
    name: row.name,
    ...(until !== null && (status === 'pausing' || status === 'paused')
      ? { pausedUntil: until.toISOString() }
      : {}),
  };
}

/** Both tracks offer the version of the server, because agents are released with it. */
export function presentAgent(row: AgentRow, serverVersion: string): Agent {
  const agentVersion = row.agent_version;
  return {
    ...presentSummary(row),
    enableAutoUpdates: row.enable_auto_updates,
    restrictedAccess: row.restricted_access,
    environmentShare: row.environment_share,
    weights: row.weights,
    versionDetails: {
      agentVersion,
      agentUpdateAvailable: agentVersion !== '' && agentVersion !== serverVersion,
      support: agentVersion === '' ? 'unknown' : 'supported',
      trackName: row.track_name,
      trackVersion: serverVersion,
    },
  };
}

/**
 * A hash of everything that is returned, because status and version change without a write to the agent.
 */
export function renderAgentEtag(row: AgentRow): string {
  const state = JSON.stringify([presentAgent(row, ''), row.version, row.vault_access]);
  return makeEntityTag(row.agent_id, `v${createHash('sha256').update(state).digest('hex').slice(0, 16)}`);
}

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid', now: 'timestamptz' },
    row: agentRow,
  },
  `
  select ${renderColumns('$now')} from agent a where a.account_id = $account_id and a.agent_id = $agent_id for update of a`,
);

/** Throws `agent-not-found`. */
export async function lockAgent(tx: Transaction, scope: Scope, id: string, now: Date): Promise<AgentRow> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, agent_id: toUuid(id), now });
  return requireRow(found, () => problem('agent-not-found', { id }));
}

export interface KnownAgent {
  agentId: string;
  name: string;
}

const selectAgent = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, row: { agent_id: 'uuid', name: 'text' } },
  'select agent_id, name from agent where account_id = $account_id and agent_id = $agent_id',
);

/** Throws `unknown-agent`. For an agent in a request body. */
export async function requireAgent(tx: Transaction, scope: Scope, agentId: string): Promise<KnownAgent> {
  const [row] = isUuid(agentId)
    ? await tx.query(selectAgent, { account_id: scope.accountId, agent_id: agentId })
    : [];
  if (row === undefined) throw problem('unknown-agent', { id: agentId });
  return { agentId: row.agent_id, name: row.name };
}

// Locked, so that the agent still exists when the row that references it is written.
const selectTwo = statement(
  { parameters: { account_id: 'uuid' }, row: { agent_id: 'uuid', name: 'text' } },
  'select agent_id, name from agent where account_id = $account_id order by agent_id limit 2 for key share',
);

/** The only agent of the account; undefined if it has none or several. */
export async function findOnlyAgent(tx: Transaction, scope: Scope): Promise<KnownAgent | undefined> {
  const [first, second] = await tx.query(selectTwo, { account_id: scope.accountId });
  if (first === undefined || second !== undefined) return undefined;
  return { agentId: first.agent_id, name: first.name };
}

export interface NewAgent
  extends Pick<
    AgentRow,
    'name' | 'description' | 'agent_type' | 'cloud_provider' | 'deployment' | 'track_name'
  > {
  agent_id: string;
  enable_auto_updates: boolean;
  restricted_access: boolean;
  client_id: string;
  secret: Secret;
}

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      agent_id: 'uuid',
      name: 'text',
      description: 'text',
      agent_type: 'text',
      cloud_provider: 'text',
      deployment: 'text',
      track_name: 'text',
      enable_auto_updates: 'boolean',
      restricted_access: 'boolean',
      client_id: 'text',
      secret_digest: 'bytea',
      secret_sealed: 'bytea',
      created_at: 'timestamptz',
    },
  },
  `
  insert into agent (account_id, agent_id, name, description, agent_type, cloud_provider, deployment, track_name, enable_auto_updates,
    restricted_access, status, client_id, secret_digest, secret_sealed, created_at)
  values ($account_id, $agent_id, $name, $description, $agent_type, $cloud_provider, $deployment, $track_name,
    $enable_auto_updates, $restricted_access, 'pending', $client_id, $secret_digest, $secret_sealed, $created_at)`,
);

export function insertAgent(
  tx: Transaction,
  sealer: Sealer,
  accountId: string,
  made: NewAgent,
  now: Date,
): void {
  const { agent_id, client_id, secret, ...shown } = made;
  const { name } = shown;
  tx.onConstraint('agent_name_taken', () => problem('agent-name-taken', { name }));
  tx.send(insertOne, {
    account_id: accountId,
    agent_id,
    ...shown,
    client_id,
    ...sealForStorage(sealer, agent_id, secret),
    created_at: now,
  });
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      agent_id: 'uuid',
      name: 'text',
      description: 'text',
      track_name: 'text',
      enable_auto_updates: 'boolean',
      restricted_access: 'boolean',
      environment_share: 'integer',
      weights: 'jsonb',
      version: 'bigint',
    },
  },
  `
  update agent set name = $name, description = $description, track_name = $track_name,
    enable_auto_updates = $enable_auto_updates, restricted_access = $restricted_access, version = $version,
    environment_share = $environment_share, weights = $weights, places_changed = places_changed or $restricted_access
  where account_id = $account_id and agent_id = $agent_id`,
);

export function updateAgentRow(tx: Transaction, scope: Scope, row: AgentRow): void {
  const { name } = row;
  tx.onConstraint('agent_name_taken', () => problem('agent-name-taken', { name }));
  tx.send(updateOne, { account_id: scope.accountId, ...row, weights: JSON.stringify(row.weights) });
}

const unknownWeights = statement(
  {
    parameters: { account_id: 'uuid', weights: 'jsonb' },
    row: { project_id: 'uuid', environment_name: 'text?', has_project: 'boolean' },
  },
  `
  select w."projectId" as project_id, w."environmentName" as environment_name, p.project_id is not null as has_project
  from jsonb_to_recordset($weights) as w ("projectId" uuid, "environmentName" text)
  left join project p on p.account_id = $account_id and p.project_id = w."projectId"
  left join environment e on e.account_id = $account_id and e.project_id = w."projectId" and e.name = w."environmentName"
  where p.project_id is null or w."environmentName" is not null and e.name is null`,
);

/** The weights whose project or environment does not exist. They may be written before these are created. */
export function listUnknownWeights(tx: Transaction, scope: Scope, weights: readonly AgentWeight[]) {
  return tx.query(unknownWeights, { account_id: scope.accountId, weights: JSON.stringify(weights) });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, alone: true },
  'delete from agent where account_id = $account_id and agent_id = $agent_id',
);

const deleteTurns = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' } },
  'delete from work_turn where account_id = $account_id and agent_id = $agent_id',
);

export function deleteAgentRow(tx: Transaction, scope: Scope, agentId: string): void {
  tx.send(deleteOne, { account_id: scope.accountId, agent_id: agentId });
  tx.send(deleteTurns, { account_id: scope.accountId, agent_id: agentId });
}
