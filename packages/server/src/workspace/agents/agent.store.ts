/** The table `agent`. */
import { createHash } from 'node:crypto';
import type { Agent, AgentStatus, AgentSummary } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { entityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { asUuid, isUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import { heardOf } from './agent.status.ts';
import { keptForms } from './agent-secret.store.ts';

interface SummaryRow {
  agent_id: string;
  name: string;
  description: string;
  agent_type: AgentSummary['agentType'];
  cloud_provider: string;
  deployment: string;
  status: AgentStatus;
  paused_until: Date | null;
  connected: boolean;
}

export interface AgentRow extends SummaryRow {
  track_name: Agent['versionDetails']['trackName'];
  enable_auto_updates: boolean;
  restricted_access: boolean;
  agent_version: string;
  version: number;
}

const summaryColumns = (
  now: string,
) => `a.agent_id, a.name, a.description, a.agent_type, a.cloud_provider, a.deployment, a.status,
    a.paused_until, ${heardOf(now)} as connected`;
const columns = (now: string) =>
  `${summaryColumns(now)}, a.track_name, a.enable_auto_updates, a.restricted_access, a.agent_version, a.version`;

// Of the id as a range, so that one agent is found by its key, however many there are.
const filters = `account_id = $1 and ($9::text is null or agent_type = $9) and ($10::text is null or status = $10)
  and ($11::text is null or name = $11) and agent_id >= coalesce($12::uuid, '00000000-0000-0000-0000-000000000000')
  and agent_id <= coalesce($12::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')`;

/**
 * Parameters: type, status, name, id (each or null), limit, offset. The total is null when the id is
 * nobody's.
 */
export const agentPage = guardedPage<SummaryRow, number | null>({
  rows: `
    select ${summaryColumns('$8')}
    from agent a where ${filters} order by created_at desc, agent_id desc limit $13 offset $14`,
  total: `
    select case when $12::uuid is null or exists (select from agent where account_id = $1 and agent_id = $12)
      then (select count(*) from agent where ${filters})::bigint end as total`,
});

/** Parameters: id. */
export const agentById = guardedRead<AgentRow>(
  `select ${columns('$8')} from agent a where a.account_id = $1 and a.agent_id = $9`,
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

/** Both tracks offer the version of the server, with which agents are released. */
export function presentAgent(row: AgentRow, serverVersion: string): Agent {
  const agentVersion = row.agent_version;
  return {
    ...presentSummary(row),
    enableAutoUpdates: row.enable_auto_updates,
    restrictedAccess: row.restricted_access,
    versionDetails: {
      agentVersion,
      agentUpdateAvailable: agentVersion !== '' && agentVersion !== serverVersion,
      support: agentVersion === '' ? 'unknown' : 'supported',
      trackName: row.track_name,
      trackVersion: serverVersion,
    },
  };
}

/** Of all that is shown: the status and the agent's version move without a write of the agent. */
export function agentTag(row: AgentRow): string {
  const state = JSON.stringify([presentAgent(row, ''), row.version]);
  return entityTag(row.agent_id, `v${createHash('sha256').update(state).digest('hex').slice(0, 16)}`);
}

const lockOne = statement<AgentRow>(`
  select ${columns('$3')} from agent a where a.account_id = $1 and a.agent_id = $2 for update of a`);

/** Throws `agent-not-found`. */
export async function lockAgent(tx: Transaction, scope: Scope, id: string, now: Date): Promise<AgentRow> {
  const [row] = await tx.query(lockOne, [scope.accountId, asUuid(id), now]);
  if (row === undefined) throw problem('agent-not-found', { id });
  return row;
}

export interface KnownAgent {
  agentId: string;
  name: string;
}

const selectAgent = statement<{ agent_id: string; name: string }>(
  'select agent_id, name from agent where account_id = $1 and agent_id = $2',
);

/** Throws `unknown-agent`: for an agent that a body names. */
export async function requireAgent(tx: Transaction, scope: Scope, agentId: string): Promise<KnownAgent> {
  const [row] = isUuid(agentId) ? await tx.query(selectAgent, [scope.accountId, agentId]) : [];
  if (row === undefined) throw problem('unknown-agent', { id: agentId });
  return { agentId: row.agent_id, name: row.name };
}

// Locked, so that the agent is still there when what is to refer to it is written.
const selectTwo = statement<{ agent_id: string; name: string }>(
  'select agent_id, name from agent where account_id = $1 order by agent_id limit 2 for key share',
);

/** The only agent of the account; undefined when it has none or several. */
export async function findOnlyAgent(tx: Transaction, scope: Scope): Promise<KnownAgent | undefined> {
  const [first, second] = await tx.query(selectTwo, [scope.accountId]);
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

const insertOne = statement(`
  insert into agent (account_id, agent_id, name, description, agent_type, cloud_provider, deployment, track_name, enable_auto_updates,
    restricted_access, status, client_id, secret_digest, secret_sealed, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, $13, $14)`);

export function insertAgent(
  tx: Transaction,
  sealer: Sealer,
  accountId: string,
  made: NewAgent,
  now: Date,
): AgentRow {
  const { agent_id, client_id, secret, ...shown } = made;
  const { name, description, agent_type, cloud_provider, deployment, track_name } = shown;
  tx.onConstraint('agent_name_taken', () => problem('agent-name-taken', { name }));
  tx.send(insertOne, [
    ...[accountId, agent_id, name, description, agent_type, cloud_provider, deployment, track_name],
    ...[shown.enable_auto_updates, shown.restricted_access, client_id],
    ...keptForms(sealer, agent_id, secret),
    now,
  ]);
  const unseen = {
    status: 'pending',
    paused_until: null,
    connected: false,
    agent_version: '',
    version: 1,
  } as const;
  return { agent_id, ...shown, ...unseen };
}

const updateOne = statement(`
  update agent set name = $3, description = $4, track_name = $5, enable_auto_updates = $6, restricted_access = $7, version = $8,
    places_changed = places_changed or $7
  where account_id = $1 and agent_id = $2`);

export function updateAgentRow(tx: Transaction, scope: Scope, row: AgentRow): void {
  const { name, description, track_name, enable_auto_updates, restricted_access, version } = row;
  tx.onConstraint('agent_name_taken', () => problem('agent-name-taken', { name }));
  const settings = [name, description, track_name, enable_auto_updates, restricted_access, version];
  tx.send(updateOne, [scope.accountId, row.agent_id, ...settings]);
}

const deleteOne = statement('delete from agent where account_id = $1 and agent_id = $2', { alone: true });

export function deleteAgentRow(tx: Transaction, scope: Scope, agentId: string): void {
  tx.send(deleteOne, [scope.accountId, agentId]);
}
