import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement, type Transaction } from '../../kernel/database.ts';
import type { CallingAgent } from './agent-endpoint.ts';

const setConnected = statement(`
  update agent set status = case when status in ('pending', 'unknown', 'stopped') then 'running' else status end, last_seen_at = $3
  where account_id = $1 and agent_id = $2`);

/** How often at most an agent's sign of life is written. */
const writtenEveryMilliseconds = 4_000;

export interface Presence {
  connected(tx: Transaction, agent: CallingAgent): void;
  seen(agent: CallingAgent): Promise<void>;
}

/** When an agent was last heard of, by a heartbeat or while it waits for work; the list of agents shows it as connected by that. */
export function createPresence(services: { database: Database; clock: Clock }): Presence {
  const written = new Map<string, number>();
  return {
    connected(tx, agent) {
      tx.send(setConnected, [agent.accountId, agent.agentId, services.clock.now()]);
    },
    async seen(agent) {
      const now = services.clock.now();
      if (now.getTime() - (written.get(agent.agentId) ?? 0) < writtenEveryMilliseconds) return;
      written.set(agent.agentId, now.getTime());
      await services.database.transaction((tx) =>
        tx.send(setConnected, [agent.accountId, agent.agentId, now]),
      );
    },
  };
}
