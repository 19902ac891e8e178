/** The long-poll: an instance asks for work, and is answered when there is some, a command for it, or its time is over. */
import type { ClaimRequest, ClaimResponse, Command, WorkItem } from '@headgate/contract';
import type { Services } from '../../kernel/endpoint.ts';
import type { Wakes } from '../../kernel/wakes.ts';
import {
  claim,
  commandsFor,
  type WorkMoment,
  type WorkOwners,
  type WorkRow,
  type WorkTimes,
} from '../../kernel/work.ts';
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

  async function look(agent: CallingAgent, request: ClaimRequest, requestId: string): Promise<ClaimResponse> {
    const { accountId, agentId } = agent;
    const { instanceId, max } = request;
    return services.database.transaction(async (tx) => {
      const now = services.clock.now();
      const asked = commandsFor(tx, accountId, agentId, instanceId);
      const works =
        max === 0 ? [] : await claim(tx, { accountId, agentId, instanceId, max }, now, services.times);
      const source = { accountId, actorId: agentId, actorKind: 'agent', requestId } as const;
      const moment: WorkMoment = { tx, accountId, source, now, newId: services.newId };
      const work = await itemsOf(services, moment, works);
      const commands = (await asked).map(
        (row): Command => ({ workId: row.work_id, epoch: row.epoch, command: row.command }),
      );
      // A full hand leaves more on the table: the next one may have it.
      if (works.length === max && max > 0) tx.afterCommit(() => services.wakes.wake(agentId, 'one'));
      return { work, commands };
    });
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

function createWait(wakes: Wakes, key: string) {
  const woken = Promise.withResolvers<void>();
  const end = wakes.wait(key, woken.resolve);
  return {
    end,
    async atMost(milliseconds: number, gone: AbortSignal): Promise<void> {
      const timer = setTimeout(woken.resolve, milliseconds);
      gone.addEventListener('abort', () => woken.resolve(), { once: true });
      await woken.promise;
      clearTimeout(timer);
    },
  };
}

async function itemsOf(
  services: ClaimServices,
  moment: WorkMoment,
  works: readonly WorkRow[],
): Promise<WorkItem[]> {
  const items: WorkItem[] = [];
  const leaseExpiresAt = new Date(moment.now.getTime() + services.times.leaseSeconds * 1_000).toISOString();
  for (const [kind, ofKind] of Map.groupBy(works, (work) => work.kind)) {
    const payloads = await services.owners[kind].payloads(moment, ofKind);
    for (const work of ofKind) {
      const payload = payloads.get(work.work_id) as WorkItem['payload'] | undefined;
      if (payload === undefined) throw new Error(`The work ${work.work_id} has no ${kind}.`);
      items.push({ workId: work.work_id, epoch: work.epoch, kind, leaseExpiresAt, payload });
    }
  }
  return items;
}
