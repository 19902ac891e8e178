/** The agent that the server starts, in the table `agent`. */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import { insertAgent, type NewAgent } from './agent.store.ts';
import { getSecretPurpose, refreshSecret } from './agent-secret.store.ts';

const lockByName = statement(
  {
    parameters: { account_id: 'uuid', name: 'text' },
    row: { agent_id: 'uuid', client_id: 'text', secret_sealed: 'bytea?', secret_generation: 'integer' },
  },
  `
  select agent_id, client_id, secret_sealed, secret_generation from agent where account_id = $account_id
    and name = $name for update`,
);

export interface RegisteredAgent {
  agentId: string;
  clientId: string;
  secret: Secret;
  generation: number;
  isNew: boolean;
}

/**
 * Registers the local agent under its name, or returns the existing one with its secret. Servers that share
 * a database run instances of one agent, so none may change the secret.
 */
export async function registerLocalAgent(
  tx: Transaction,
  sealer: Sealer,
  accountId: string,
  agent: Pick<NewAgent, 'agent_id' | 'name' | 'description' | 'client_id' | 'secret'>,
  now: Date,
): Promise<RegisteredAgent> {
  const [known] = await tx.query(lockByName, { account_id: accountId, name: agent.name });
  if (known !== undefined) {
    const { agent_id: agentId, client_id: clientId, secret_sealed, secret_generation: generation } = known;
    if (secret_sealed !== null) {
      const secret = sealer.unseal(secret_sealed, getSecretPurpose(agentId));
      return { agentId, clientId, secret, generation, isNew: false };
    }
    refreshSecret(tx, sealer, { accountId }, agentId, agent.secret);
    return { agentId, clientId, secret: agent.secret, generation: generation + 1, isNew: false };
  }
  const local = {
    agent_type: 'data_productivity_cloud',
    cloud_provider: 'local',
    deployment: 'local',
  } as const;
  const settings = { track_name: 'current', enable_auto_updates: false, restricted_access: false } as const;
  insertAgent(tx, sealer, accountId, { ...agent, ...local, ...settings }, now);
  const { agent_id: agentId, client_id: clientId, secret } = agent;
  return { agentId, clientId, secret, generation: 0, isNew: true };
}
