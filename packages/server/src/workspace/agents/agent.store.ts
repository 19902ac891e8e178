/** The table `agent`. */
import { createHash } from 'node:crypto';
import type { Agent, AgentStatus, AgentSummary } from '@headgate/contract';
import { clientSecretPurpose } from '../../access/credentials/index.ts';
import { statement, type Transaction } from '../../kernel/database.ts';
import { guardedPage, guardedRead } from '../../kernel/guarded-read.ts';
import { asUuid, isUuid } from '../../kernel/identifiers.ts';
import { entityTag } from '../../kernel/if-match.ts';
import type { Scope } from '../../kernel/permissions.ts';
import { problem } from '../../kernel/problems.ts';
import type { Sealer, Secret } from '../../kernel/sealed.ts';
import { heardOf } from './agent.status.ts';

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

const filters = `account_id = $1 and ($9::text is null or agent_type = $9) and ($10::text is null or status = $10)
  and ($11::text is null or name = $11) and ($12::uuid is null or agent_id = $12)`;

/** Parameters: type, status, name, id (each or null), limit, offset. The total is null when the id is nobody's. */
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
  update agent set name = $3, description = $4, track_name = $5, enable_auto_updates = $6, restricted_access = $7, version = $8
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

const secretPurpose = (agentId: string) => `secret of the agent ${agentId}`;

/** A secret as the table keeps it: to compare with, and to show to whoever starts the agent. */
function keptForms(sealer: Sealer, agentId: string, secret: Secret): [Buffer, Buffer] {
  return [sealer.digest(secret.reveal(), clientSecretPurpose), sealer.seal(secret, secretPurpose(agentId))];
}

interface ClientRow {
  agent_id: string;
  name: string;
  client_id: string;
  secret_sealed: Buffer | null;
}

const selectClient = statement<ClientRow>(`
  select agent_id, name, client_id, secret_sealed from agent where account_id = $1 and agent_id = $2 for update`);

/** Throws `agent-not-found`. */
export async function lockClient(tx: Transaction, scope: Scope, id: string): Promise<ClientRow> {
  const [row] = await tx.query(selectClient, [scope.accountId, asUuid(id)]);
  if (row === undefined) throw problem('agent-not-found', { id });
  return row;
}

/** Throws `agent-secret-not-kept`. */
export function openSecret(sealer: Sealer, { agent_id, name, secret_sealed }: ClientRow): Secret {
  if (secret_sealed === null) throw problem('agent-secret-not-kept', { name });
  return sealer.unseal(secret_sealed, secretPurpose(agent_id));
}

const replaceSecret = statement(`
  update agent set secret_digest = $3, secret_sealed = $4, secret_generation = secret_generation + 1
  where account_id = $1 and agent_id = $2`);

/** From then on its secret of before, and the tokens of that, count no more. */
export function refreshSecret(
  tx: Transaction,
  sealer: Sealer,
  scope: Scope,
  agentId: string,
  secret: Secret,
): void {
  tx.send(replaceSecret, [scope.accountId, agentId, ...keptForms(sealer, agentId, secret)]);
}

const selectByName = statement<{ agent_id: string; client_id: string }>(
  'select agent_id, client_id from agent where account_id = $1 and name = $2',
);
// The tokens of before stay: its process of another start may still have runs to end.
const renewSecret = statement(`
  update agent set secret_digest = $3, secret_sealed = $4 where account_id = $1 and agent_id = $2`);

export interface RegisteredAgent {
  agentId: string;
  clientId: string;
  isNew: boolean;
}

/** Registers an agent that runs beside its server, under its name, or gives the one of that name another secret. */
export async function registerLocalAgent(
  tx: Transaction,
  sealer: Sealer,
  accountId: string,
  agent: Pick<NewAgent, 'agent_id' | 'name' | 'description' | 'client_id' | 'secret'>,
  now: Date,
): Promise<RegisteredAgent> {
  const [known] = await tx.query(selectByName, [accountId, agent.name]);
  if (known !== undefined) {
    tx.send(renewSecret, [accountId, known.agent_id, ...keptForms(sealer, known.agent_id, agent.secret)]);
    return { agentId: known.agent_id, clientId: known.client_id, isNew: false };
  }
  const local = {
    agent_type: 'data_productivity_cloud',
    cloud_provider: 'local',
    deployment: 'local',
  } as const;
  const settings = { track_name: 'current', enable_auto_updates: false, restricted_access: false } as const;
  insertAgent(tx, sealer, accountId, { ...agent, ...local, ...settings }, now);
  return { agentId: agent.agent_id, clientId: agent.client_id, isNew: true };
}
