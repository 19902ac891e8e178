/** The long-poll: an instance asks for work, and is answered when there is some, a command for it, or its time is over. */
import type { ClaimRequest, ClaimResponse, Command, WorkItem } from '@headgate/contract';
import type { Services } from '../../kernel/endpoint.ts';
import { createWait, type Wakes } from '../../kernel/wakes.ts';
import { claim, claimStatement, commandsFor, type WorkOwners, type WorkTimes } from '../../kernel/work.ts';
import type { CallingAgent } from './agent-endpoint.ts';
import type { Presence } from './agent-link.store.ts';

/** A wake-up may be lost with a connection: who waits looks again by himself. */
const lookAgainMilliseconds = 5_000;

interface ClaimServices extends Services {
  wakes: Wakes;
  owners: WorkOwners;
  times: WorkTimes;
}

export function createClaims(services: ClaimServices, presence: Presence) {
  const told = new Map<string, number>();
  const claimWork = claimStatement(services.owners);

  async function look(agent: CallingAgent, request: ClaimRequest, requestId: string): Promise<ClaimResponse> {
    const { accountId, agentId } = agent;
    const { instanceId, max } = request;
    const now = services.clock.now();
    const { asked, works } = await services.database.transaction((tx) => ({
      asked: commandsFor(tx, accountId, agentId, instanceId),
      works:
        max === 0
          ? []
          : claim(
              tx,
              claimWork,
              { accountId, agentId, instanceId, max, requestId },
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
    };
  }

  /** Commands are told once a long-poll; until they are obeyed each heartbeat repeats them. */
  function news(answer: ClaimResponse): boolean {
    const now = services.clock.now().getTime();
    const fresh = answer.commands.filter(
      (command) => (told.get(keyOf(command)) ?? 0) < now - lookAgainMilliseconds,
    );
    return answer.work.length > 0 || fresh.length > 0;
  }

  function remember(answer: ClaimResponse): ClaimResponse {
    const now = services.clock.now().getTime();
    for (const [key, at] of told) if (at < now - 60_000) told.delete(key);
    for (const command of answer.commands) told.set(keyOf(command), now);
    return answer;
  }

  return {
    async answer(
      agent: CallingAgent,
      request: ClaimRequest,
      gone: AbortSignal,
      requestId: string,
    ): Promise<ClaimResponse> {
      const until = Date.now() + request.waitSeconds * 1_000;
      for (;;) {
        // Waiting begins before looking: what is enqueued meanwhile wakes us.
        const wait = createWait(services.wakes, agent.agentId);
        try {
          await presence.seen(agent);
          const answer = await look(agent, request, requestId);
          const left = until - Date.now();
          if (news(answer) || left <= 0 || gone.aborted) return remember(answer);
          await wait.atMost(Math.min(left, lookAgainMilliseconds), gone);
          if (gone.aborted) {
            // The wake-up may have been for work: another one who waits shall have it.
            services.wakes.wake(agent.agentId, 'one');
            return { work: [], commands: [] };
          }
        } finally {
          wait.end();
        }
      }
    },
  };
}

const keyOf = ({ workId, epoch, command }: Command) => `${workId} ${epoch} ${command}`;
