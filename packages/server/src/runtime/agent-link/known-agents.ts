/** The agents that call: a token says which one, and its row whether that token still counts. */
import { type Database, statement } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import type { TokenOwner } from '../../kernel/security/tokens.ts';
import { parseSecretWakeKey } from '../../workspace/agents/index.ts';

export interface CallingAgent {
  accountId: string;
  agentId: string;
  name: string;
  /** Of the secret that its token was given for: the current one. */
  generation: number;
}

/** What its row says. */
export type AgentFacts = Pick<CallingAgent, 'name' | 'generation'>;

/**
 * How long an agent is known without asking again. One that is deleted, and a token of a secret before, are
 * refused as soon as the server hears of it; should that message be lost, within this time.
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
    // Messages may have been missed: about any agent.
    if (agentId === undefined) known.clear();
    else known.delete(agentId);
  });

  function note(owner: TokenOwner, facts: AgentFacts, askedAt: number): CallingAgent {
    const { accountId, actorId: agentId } = owner;
    const remembered = known.get(agentId)?.agent;
    const isSame = remembered?.name === facts.name && remembered.generation === facts.generation;
    const agent = remembered !== undefined && isSame ? remembered : { accountId, agentId, ...facts };
    known.delete(agentId);
    known.set(agentId, { agent, askedAt });
    return agent;
  }

  async function ask(owner: TokenOwner): Promise<CallingAgent> {
    const { accountId, actorId: agentId } = owner;
    const askedAt = now();
    const before = forgotten;
    const [row] = await read(selectAgent, { account_id: accountId, agent_id: agentId });
    known.delete(agentId);
    if (row === undefined) throw problem('token-invalid', { reason: 'its agent was deleted.' });
    const agent = note(owner, { name: row.name, generation: row.secret_generation }, askedAt);
    // What was read may be of before.
    if (before !== forgotten) known.delete(agentId);
    return agent;
  }

  return {
    /**
     * Throws `token-invalid` for a deleted agent, and for a token of a secret before, as it is known since so
     * long at most.
     */
    async identify(owner: TokenOwner, milliseconds = knownMilliseconds): Promise<CallingAgent> {
      const generation = owner.generation ?? 0;
      const remembered = known.get(owner.actorId);
      const isFresh = remembered !== undefined && remembered.askedAt > now() - milliseconds;
      const agent =
        isFresh && remembered.agent.generation === generation ? remembered.agent : await ask(owner);
      requireGeneration(agent, generation);
      return agent;
    },
    /** What was read of it meanwhile. */
    confirm({ accountId, agentId }: CallingAgent, facts: AgentFacts): void {
      note({ accountId, actorId: agentId }, facts, now());
    },
  };
}

/** Throws `token-invalid`. */
export function requireGeneration(current: Pick<AgentFacts, 'generation'>, generation: number): void {
  if (current.generation !== generation) throw secretRefreshed();
}

/** For a token of a secret before: its agent gets another. */
export function secretRefreshed(): Problem {
  return problem('token-invalid', { reason: 'the secret of its agent was refreshed; get a new one.' });
}
