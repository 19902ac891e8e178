/** The table `agent`. */
import type { AgentStatus, AgentSummary } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database.ts';
import { guardedPage } from '../../kernel/guarded-read.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/permissions.ts';
import { problem } from '../../kernel/problems.ts';

/** An agent counts as connected while its last sign of life is no older; it gives one every few seconds. */
export const connectedSeconds = 15;

interface AgentRow {
  agent_id: string;
  name: string;
  description: string;
  agent_type: AgentSummary['agentType'];
  cloud_provider: string;
  deployment: string;
  status: AgentStatus;
  connected: boolean;
}

const filters = `account_id = $1 and ($9::text is null or agent_type = $9) and ($10::text is null or status = $10)
  and ($11::text is null or name = $11) and ($12::uuid is null or agent_id = $12)`;

/** Parameters: type, status, name, id (each or null), limit, offset. The total is null when the id is nobody's. */
export const agentPage = guardedPage<AgentRow, number | null>({
  rows: `
    select agent_id, name, description, agent_type, cloud_provider, deployment, status,
      coalesce(last_seen_at > $8::timestamptz - interval '${connectedSeconds} seconds', false) as connected
    from agent where ${filters} order by created_at desc, agent_id desc limit $13 offset $14`,
  total: `
    select case when $12::uuid is null or exists (select from agent where account_id = $1 and agent_id = $12)
      then (select count(*) from agent where ${filters})::bigint end as total`,
});

export function presentAgent(row: AgentRow): AgentSummary {
  return {
    agentId: row.agent_id,
    agentStatus: row.status,
    agentType: row.agent_type,
    cloudProvider: row.cloud_provider,
    connected: row.connected,
    deployment: row.deployment,
    description: row.description,
    name: row.name,
  };
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

const selectByName = statement<{ agent_id: string; client_id: string }>(
  'select agent_id, client_id from agent where account_id = $1 and name = $2',
);
const insertOne = statement(`
  insert into agent (account_id, agent_id, name, description, agent_type, cloud_provider, deployment, status, client_id,
    secret_digest, created_at)
  values ($1, $2, $3, $4, 'data_productivity_cloud', 'local', 'local', 'pending', $5, $6, $7)`);
const updateSecret = statement('update agent set secret_digest = $3 where account_id = $1 and agent_id = $2');

export interface RegisteredAgent {
  agentId: string;
  clientId: string;
  isNew: boolean;
}

/** Registers an agent under its name, or gives the one of that name another secret; what it is told is known to its process only. */
export async function registerLocalAgent(
  tx: Transaction,
  agent: {
    accountId: string;
    agentId: string;
    name: string;
    description: string;
    clientId: string;
    secretDigest: Buffer;
  },
  now: Date,
): Promise<RegisteredAgent> {
  const [known] = await tx.query(selectByName, [agent.accountId, agent.name]);
  if (known !== undefined) {
    tx.send(updateSecret, [agent.accountId, known.agent_id, agent.secretDigest]);
    return { agentId: known.agent_id, clientId: known.client_id, isNew: false };
  }
  const { accountId, agentId, name, description, clientId, secretDigest } = agent;
  tx.send(insertOne, [accountId, agentId, name, description, clientId, secretDigest, now]);
  return { agentId, clientId, isNew: true };
}
