/** The long-poll: an instance asks for work, and is answered when there is some, a command for it, or its time is over. */
import type { ClaimRequest, ClaimResponse, Command, WorkItem } from '@headgate/contract';
import type { Services } from '../../kernel/endpoint.ts';
import { createWait, type Wakes } from '../../kernel/wakes.ts';
import { claim, claimStatement, commandsFor, type WorkOwners, type WorkTimes } from '../../kernel/work.ts';
import type { CallingAgent } from './agent-endpoint.ts';
import { commandForInstance } from './instance.store.ts';
import type { Presence } from './presence.ts';

/**
 * How long a claim waits at most, whatever it asks for: by its next one the server knows that the instance is still there (connectedSeconds),
 * also when its host was lost with the connection standing. A wake-up that was lost is made good by the next claim, too.
 */
export const claimWaitSeconds = 8;
/** A command that was told is told again after this. */
const repeatedAfterMilliseconds = 5_000;

interface ClaimServices extends Services {
  wakes: Wakes;
  owners: WorkOwners;
  times: WorkTimes;
}

export function createClaims(services: ClaimServices, presence: Presence) {
  const told = new Map<string, number>();
  const claimWork = claimStatement(services.owners);

  async function look(agent: CallingAgent, request: ClaimRequest, requestId: string): Promise<ClaimResponse> {
    const { accountId, agentId, generation } = agent;
    const { instanceId, max } = request;
    const now = services.clock.now();
    const { ofInstance, asked, works } = await services.database.transaction((tx) => ({
      ofInstance: commandForInstance(tx, { agent, instanceId }),
      asked: commandsFor(tx, accountId, agentId, instanceId),
      works:
        max === 0
          ? []
          : claim(
              tx,
              claimWork,
              { accountId, agentId, instanceId, max, requestId, generation },
              { now, newId: services.newId },
              services.times,
            ),
    }));
    // A full hand leaves more on the table: the next one may have it.
    if (works.length === max && max > 0) services.wakes.wake(agentId, 'one');
    const leaseExpiresAt = new Date(now.getTime() + services.times.leaseSeconds * 1_000).toISOString();
    return {
      work: works.map(
        ({ work_id, epoch, kind, payload }) =>
          ({ workId: work_id, epoch, kind, leaseExpiresAt, payload }) as WorkItem,
      ),
      commands: asked.map(
        (row): Command => ({ workId: row.work_id, epoch: row.epoch, command: row.command }),
      ),
      ...(ofInstance[0] === undefined ? {} : { agentCommand: ofInstance[0].command }),
    };
  }

  /** Commands are told once a long-poll; until they are obeyed each heartbeat repeats them. */
  function news(answer: ClaimResponse, instanceId: string): boolean {
    const before = services.clock.now().getTime() - repeatedAfterMilliseconds;
    return answer.work.length > 0 || keysOf(answer, instanceId).some((key) => (told.get(key) ?? 0) < before);
  }

  function remember(answer: ClaimResponse, instanceId: string): ClaimResponse {
    const now = services.clock.now().getTime();
    for (const [key, at] of told) if (at < now - 60_000) told.delete(key);
    for (const key of keysOf(answer, instanceId)) told.set(key, now);
    return answer;
  }

  return {
    async answer(
      agent: CallingAgent,
      request: ClaimRequest,
      gone: AbortSignal,
      requestId: string,
    ): Promise<ClaimResponse> {
      const { instanceId } = request;
      const until = Date.now() + Math.min(request.waitSeconds, claimWaitSeconds) * 1_000;
      const seen = presence.seen({ agent, instanceId }, requestId, true);
      for (;;) {
        // Waiting begins before looking: what is enqueued meanwhile wakes us.
        const wait = createWait(services.wakes, agent.agentId);
        try {
          const [answer] = await Promise.all([look(agent, request, requestId), seen]);
          const left = until - Date.now();
          if (news(answer, instanceId) || left <= 0 || gone.aborted) return remember(answer, instanceId);
          const woken = await wait.atMost(left, gone);
          if (gone.aborted) {
            // The wake-up may have been for work: another one who waits shall have it.
            services.wakes.wake(agent.agentId, 'one');
            return nothing;
          }
          if (!woken) return nothing;
        } finally {
          wait.end();
        }
      }
    },
  };
}

const nothing: ClaimResponse = { work: [], commands: [] };

/** What was told, by what it is about. */
function keysOf({ commands, agentCommand }: ClaimResponse, instanceId: string): string[] {
  const keys = commands.map(({ workId, epoch, command }) => `${workId} ${epoch} ${command}`);
  return agentCommand === undefined ? keys : [...keys, `${instanceId} ${agentCommand}`];
}
