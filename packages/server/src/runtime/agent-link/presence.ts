/** Which instances of an agent are there: each says hello, gives signs of life, and says goodbye; the agent's status follows. */
import type { AgentStatus, GoodbyeStage, HelloRequest } from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { lockAgentStatus, updateStatus } from '../../workspace/agents/index.ts';
import {
  type InstanceKey,
  noteSignOfLife,
  noteStopping,
  removeInstance,
  writeInstance,
  writeUnknownInstance,
} from './instance.store.ts';
import { type CallingAgent, type KnownAgents, requireGeneration } from './known-agents.ts';
import { type Called, createRollCall } from './roll-call.ts';

/** How often at most a sign of life is written: with the longest time between two, well within connectedSeconds. */
const writtenEveryMilliseconds = 2_000;
const forgottenAfterMilliseconds = 60_000;

/** An agent with such a status has more to tell than that it is still there. */
const awayStatuses: readonly AgentStatus[] = ['pending', 'unknown', 'stopped'];

interface Calling {
  agent: CallingAgent;
  requestId: string;
}

/** An instance that waits. */
interface Attendant extends InstanceKey {
  requestId: string;
  /** Something may be there for it. */
  wake(): void;
  /** It may not wait any longer, for instance because its token counts no more. */
  refuse(failure: unknown): void;
}

export type Presence = ReturnType<typeof createPresence>;

export function createPresence(
  services: Pick<Services, 'database' | 'clock' | 'newId' | 'log'>,
  known: KnownAgents,
) {
  const { database, clock, newId } = services;
  const rollCall = createRollCall(services, (waiting: Attendant, called) => {
    hasNews(waiting, called).then(
      (news) => news && waiting.wake(),
      (failure: unknown) => waiting.refuse(failure),
    );
  });
  /** When a sign of life of each instance was written last, oldest first. */
  const written = new Map<string, number>();

  function isDue(key: InstanceKey, now: number): boolean {
    const name = nameOf(key);
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
      return updateStatus({ tx, source: sourceOf(by), now, newId }, agentId, whenNone);
    });
  }

  /** Brings back an agent whose status is not that of one that is there. */
  async function comeBack(by: Calling, { status, stopping }: Pick<Called, 'status' | 'stopping'>) {
    if (awayStatuses.includes(status) || (status === 'stopping' && !stopping))
      await change(by, () => undefined);
  }

  /** A sign of life. One of an instance that is not known makes it known when it `claims`: then it works. */
  async function seen(key: InstanceKey, requestId: string, claims: boolean): Promise<void> {
    const now = clock.now();
    if (!isDue(key, now.getTime())) return;
    const [found] = await database.transaction((tx) => noteSignOfLife(tx, key, now));
    const by = { agent: key.agent, requestId };
    if (found !== undefined) await comeBack(by, { ...found, status: found.agent_status });
    else if (claims) await change(by, (tx) => writeUnknownInstance(tx, key, now));
  }

  /** Whether something may be there for an instance that was called. Throws `token-invalid`. */
  async function hasNews(key: Attendant, called: Called | undefined): Promise<boolean> {
    const { agent, requestId } = key;
    if (called === undefined) {
      written.delete(nameOf(key));
      await seen(key, requestId, true);
      return true;
    }
    known.confirm(agent, called);
    requireGeneration(called, agent.generation);
    await comeBack({ agent, requestId }, called);
    return called.hasNews;
  }

  return {
    seen,

    /** A sign of life of an instance that waits, written together with those of others; within a second it is told what comes of it. */
    attend: (waiting: Attendant): void => rollCall.attend(waiting),

    async hello(agent: CallingAgent, said: HelloRequest, requestId: string): Promise<void> {
      const { agentVersion, instanceId, abilities, concurrency } = said;
      const by = { agent, requestId };
      await change(by, (tx, now) => {
        writeInstance(tx, { agent, instanceId }, said, now);
        note(tx, by, 'agent-connected', { agentVersion, instanceId, abilities, concurrency });
      });
    },

    /** Answers the status of the agent. */
    async goodbye(key: InstanceKey, stage: GoodbyeStage, requestId: string): Promise<AgentStatus> {
      const by = { agent: key.agent, requestId };
      written.delete(nameOf(key));
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

function nameOf({ agent, instanceId }: InstanceKey): string {
  return `${agent.agentId} ${instanceId}`;
}
