/** Which instances of an agent are there: each says hello, gives signs of life, and says goodbye; the agent's status follows. */
import type { AgentStatus, GoodbyeStage, HelloRequest } from '@headgate/contract';
import type { Transaction } from '../../kernel/database.ts';
import type { Services } from '../../kernel/endpoint.ts';
import { recordEvents } from '../../kernel/events.ts';
import { lockAgentStatus, settleStatus } from '../../workspace/agents/index.ts';
import type { CallingAgent } from './agent-endpoint.ts';
import {
  type InstanceKey,
  noteSignOfLife,
  noteStopping,
  removeInstance,
  writeInstance,
  writeUnknownInstance,
} from './instance.store.ts';

/** How often at most a sign of life is written: with the longest time between two, well within connectedSeconds. */
const writtenEveryMilliseconds = 2_000;
const forgottenAfterMilliseconds = 60_000;

/** An agent with such a status has more to tell than that it is still there. */
const awayStatuses: readonly AgentStatus[] = ['pending', 'unknown', 'stopped'];

interface Calling {
  agent: CallingAgent;
  requestId: string;
}

export type Presence = ReturnType<typeof createPresence>;

export function createPresence(services: Pick<Services, 'database' | 'clock' | 'newId'>) {
  const { database, clock, newId } = services;
  /** When a sign of life of each instance was written last, oldest first. */
  const written = new Map<string, number>();

  function isDue({ agent, instanceId }: InstanceKey, now: number): boolean {
    const name = `${agent.agentId} ${instanceId}`;
    const last = written.get(name);
    if (last !== undefined && now - last < writtenEveryMilliseconds) return false;
    written.delete(name);
    written.set(name, now);
    for (const [oldest, at] of written) {
      if (at > now - forgottenAfterMilliseconds) break;
      written.delete(oldest);
    }
    return true;
  }

  function note(
    tx: Transaction,
    by: Calling,
    name: 'agent-connected' | 'agent-goodbye',
    after: object,
  ): void {
    const subject = { type: 'agent', id: by.agent.agentId, name: by.agent.name };
    recordEvents(tx, sourceOf(by), [{ name, subject, after }], clock.now(), newId);
  }

  /** Changes what is known of the instances, and moves the agent to the status that follows. */
  function change(by: Calling, changes: (tx: Transaction, now: Date) => void, whenNone?: 'stopped') {
    const now = clock.now();
    const { accountId, agentId } = by.agent;
    return database.transaction((tx) => {
      lockAgentStatus(tx, accountId, agentId);
      changes(tx, now);
      return settleStatus({ tx, source: sourceOf(by), now, newId }, agentId, whenNone);
    });
  }

  return {
    async hello(agent: CallingAgent, said: HelloRequest, requestId: string): Promise<void> {
      const { agentVersion, instanceId, abilities, concurrency } = said;
      const by = { agent, requestId };
      await change(by, (tx, now) => {
        writeInstance(tx, { agent, instanceId }, said, now);
        note(tx, by, 'agent-connected', { agentVersion, instanceId, abilities, concurrency });
      });
    },

    /** A sign of life. One of an instance that is not known makes it known when it `claims`: then it works. */
    async seen(key: InstanceKey, requestId: string, claims: boolean): Promise<void> {
      const now = clock.now();
      if (!isDue(key, now.getTime())) return;
      const [known] = await database.transaction((tx) => noteSignOfLife(tx, key, now));
      const by = { agent: key.agent, requestId };
      if (known === undefined) {
        if (claims) await change(by, (tx) => writeUnknownInstance(tx, key, now));
      } else if (
        awayStatuses.includes(known.agent_status) ||
        (known.agent_status === 'stopping' && !known.stopping)
      ) {
        await change(by, () => undefined);
      }
    },

    /** Answers the status of the agent. */
    async goodbye(key: InstanceKey, stage: GoodbyeStage, requestId: string): Promise<AgentStatus> {
      const by = { agent: key.agent, requestId };
      written.delete(`${key.agent.agentId} ${key.instanceId}`);
      const { instanceId } = key;
      const [left] = await change(
        by,
        (tx, now) => {
          if (stage === 'stopping') noteStopping(tx, key, now);
          else removeInstance(tx, key);
          note(tx, by, 'agent-goodbye', { instanceId, stage });
        },
        stage === 'stopped' ? 'stopped' : undefined,
      );
      return left?.status ?? 'stopped';
    },
  };
}

function sourceOf({ agent: { accountId, agentId: actorId }, requestId }: Calling) {
  return { accountId, actorId, actorKind: 'agent', requestId } as const;
}
