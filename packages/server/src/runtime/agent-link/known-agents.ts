/** Caches which agents exist and which generation of their secret is current. A token names its agent. */
import { type Database, statement } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import type { TokenOwner } from '../../kernel/security/tokens.ts';
import { parseSecretWakeKey } from '../../workspace/agents/index.ts';

export interface CallingAgent {
  accountId: string;
  agentId: string;
  name: string;
  /** The generation of the secret that its token was issued for: the current one. */
  generation: number;
}

/** The cached columns of the agent's row. */
export type AgentFacts = Pick<CallingAgent, 'name' | 'generation'>;

/**
 * How long the cache is used without a query. Deleted agents, and tokens of an earlier secret, are refused
 * when the notification arrives, or at the latest after this time.
 */
export const knownMilliseconds = 2_000;

const selectAgent = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid' },
    row: { name: 'text', secret_generation: 'integer' },
  },
  'select name, secret_generation from agent where account_id = $account_id and agent_id = $agent_id',
);

export type KnownAgents = ReturnType<typeof createKnownAgents>;

export function createKnownAgents({ read }: Pick<Database, 'read'>, wakes: Wakes, now: () => number) {
  const known = new Map<string, { agent: CallingAgent; askedAt: number }>();
  let forgotten = 0;
  wakes.listen((key) => {
    const agentId = key === undefined ? undefined : parseSecretWakeKey(key);
    if (key !== undefined && agentId === undefined) return;
    forgotten += 1;
    // Notifications may have been missed, about any agent.
    if (agentId === undefined) known.clear();
    else known.delete(agentId);
  });

  function remember(owner: TokenOwner, facts: AgentFacts, askedAt: number): CallingAgent {
    const { accountId, actorId: agentId } = owner;
    const remembered = known.get(agentId)?.agent;
    const isSame = remembered?.name === facts.name && remembered.generation === facts.generation;
    const agent = remembered !== undefined && isSame ? remembered : { accountId, agentId, ...facts };
    known.delete(agentId);
    known.set(agentId, { agent, askedAt });
    return agent;
  }

  async function readAgent(owner: TokenOwner): Promise<CallingAgent> {
    const { accountId, actorId: agentId } = owner;
    const askedAt = now();
    const before = forgotten;
    const [row] = await read(selectAgent, { account_id: accountId, agent_id: agentId });
    known.delete(agentId);
    if (row === undefined) throw problem('token-invalid', { reason: 'its agent was deleted.' });
    const agent = remember(owner, { name: row.name, generation: row.secret_generation }, askedAt);
    // The row may have been read before the notification.
    if (before !== forgotten) known.delete(agentId);
    return agent;
  }

  return {
    /**
     * Throws `token-invalid` for a deleted agent and for a token of an earlier secret, as of at most
     * `milliseconds` ago.
     */
    async identify(owner: TokenOwner, milliseconds = knownMilliseconds): Promise<CallingAgent> {
      const generation = owner.generation ?? 0;
      const remembered = known.get(owner.actorId);
      const isFresh = remembered !== undefined && remembered.askedAt > now() - milliseconds;
      const agent =
        isFresh && remembered.agent.generation === generation ? remembered.agent : await readAgent(owner);
      requireGeneration(agent, generation);
      return agent;
    },
    /** Stores what another query has read. */
    confirm({ accountId, agentId }: CallingAgent, facts: AgentFacts): void {
      remember({ accountId, actorId: agentId }, facts, now());
    },
  };
}

/** Throws `token-invalid`. */
export function requireGeneration(current: Pick<AgentFacts, 'generation'>, generation: number): void {
  if (current.generation !== generation) throw createSecretRefreshed();
}

/** For a token of an earlier secret; the agent gets a new token. */
export function createSecretRefreshed(): Problem {
  return problem('token-invalid', { reason: 'its agent’s secret was refreshed; get a new token.' });
}
