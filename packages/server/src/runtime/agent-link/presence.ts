/**
 * Tracks the connected instances of an agent by their hellos, signs of life and goodbyes; the agent's
 * status follows from them.
 */
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

/**
 * The shortest time between two writes of a sign of life. With the longest time between two signs it is
 * well within connectedSeconds.
 */
const writtenEveryMilliseconds = 2_000;
const forgottenAfterMilliseconds = 60_000;

/** A sign of life of an agent with such a status changes the status. */
const awayStatuses: readonly AgentStatus[] = ['pending', 'unknown', 'stopped'];

interface Calling {
  agent: CallingAgent;
  requestId: string;
}

/** A waiting instance. */
interface Attendant extends InstanceKey {
  requestId: string;
  /** Called if there may be work or a command. */
  wake(): void;
  /** Called if it may no longer wait, for example because its token is invalid. */
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
  /** When the last sign of life of each instance was written, oldest first. */
  const written = new Map<string, number>();

  function isDue(key: InstanceKey, now: number): boolean {
    const name = formatKey(key);
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

  function recordAgentEvent(
    tx: Transaction,
    by: Calling,
    name: 'agent-connected' | 'agent-goodbye',
    after: object,
  ): void {
    const subject = { type: 'agent', id: by.agent.agentId, name: by.agent.name };
    recordEvents(tx, createSource(by), [{ name, subject, after }], clock.now(), newId);
  }

  /** Changes the instances, and moves the agent to the status that follows. */
  function changeInstances(by: Calling, changes: (tx: Transaction, now: Date) => void, whenNone?: 'stopped') {
    const now = clock.now();
    const { accountId, agentId } = by.agent;
    return database.transaction((tx) => {
      lockAgentStatus(tx, accountId, agentId);
      changes(tx, now);
      return updateStatus({ tx, source: createSource(by), now, newId }, agentId, whenNone);
    });
  }

  /** Moves a connected agent out of a status of disconnected agents. */
  async function comeBack(by: Calling, { status, stopping }: Pick<Called, 'status' | 'stopping'>) {
    if (awayStatuses.includes(status) || (status === 'stopping' && !stopping))
      await changeInstances(by, () => undefined);
  }

  /** Records a sign of life. If the instance is unknown and `claims`, records the instance. */
  async function recordSignOfLife(key: InstanceKey, requestId: string, claims: boolean): Promise<void> {
    const now = clock.now();
    if (!isDue(key, now.getTime())) return;
    const [found] = await database.transaction((tx) => noteSignOfLife(tx, key, now));
    const by = { agent: key.agent, requestId };
    if (found !== undefined) await comeBack(by, { ...found, status: found.agent_status });
    else if (claims) await changeInstances(by, (tx) => writeUnknownInstance(tx, key, now));
  }

  /**
   * Returns whether there may be work or a command for an instance of the roll call. Throws
   * `token-invalid`.
   */
  async function hasNews(key: Attendant, called: Called | undefined): Promise<boolean> {
    const { agent, requestId } = key;
    if (called === undefined) {
      written.delete(formatKey(key));
      await recordSignOfLife(key, requestId, true);
      return true;
    }
    known.confirm(agent, called);
    requireGeneration(called, agent.generation);
    await comeBack({ agent, requestId }, called);
    return called.hasNews;
  }

  return {
    seen: recordSignOfLife,

    /**
     * Adds a waiting instance to the roll call, which writes its sign of life and responds within a second.
     */
    attend: (waiting: Attendant): void => rollCall.attend(waiting),

    async hello(agent: CallingAgent, said: HelloRequest, requestId: string): Promise<void> {
      const { agentVersion, instanceId, abilities, concurrency } = said;
      const by = { agent, requestId };
      await changeInstances(by, (tx, now) => {
        writeInstance(tx, { agent, instanceId }, said, now);
        recordAgentEvent(tx, by, 'agent-connected', { agentVersion, instanceId, abilities, concurrency });
      });
    },

    /** Returns the status of the agent. */
    async goodbye(key: InstanceKey, stage: GoodbyeStage, requestId: string): Promise<AgentStatus> {
      const by = { agent: key.agent, requestId };
      written.delete(formatKey(key));
      const { instanceId } = key;
      const [left] = await changeInstances(
        by,
        (tx, now) => {
          if (stage === 'stopping') noteStopping(tx, key, now);
          else removeInstance(tx, key);
          recordAgentEvent(tx, by, 'agent-goodbye', { instanceId, stage });
        },
        stage === 'stopped' ? 'stopped' : undefined,
      );
      return left?.status ?? 'stopped';
    },
  };
}

function createSource({ agent: { accountId, agentId: actorId }, requestId }: Calling) {
  return { accountId, actorId, actorKind: 'agent', requestId } as const;
}

function formatKey({ agent, instanceId }: InstanceKey): string {
  return `${agent.agentId} ${instanceId}`;
}
