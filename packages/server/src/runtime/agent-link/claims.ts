/**
 * The long-poll: an instance asks for work, and is answered when there is some, a command for it, or its time
 * is over. Most of ten thousand claims find nothing: one of an instance that is known to have nothing waiting
 * goes to wait at once, without a look (docs/adr/0026).
 */
import type { ServerResponse } from 'node:http';
import type { ClaimResponse, Command, WorkItem } from '@headgate/contract';
import type { Occasion, Wakes } from '../../kernel/database/wakes.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { claimWork, declareClaim } from '../../kernel/work/claim.ts';
import { collectCommands, type WorkOwners, type WorkTimes } from '../../kernel/work/work.ts';
import { commandForInstance } from './instance.store.ts';
import type { CallingAgent, KnownAgents } from './known-agents.ts';
import { type Asking, OpenClaim } from './open-claim.ts';
import type { Presence } from './presence.ts';
import { createQuietInstances } from './quiet-instances.ts';
import { waitingWork } from './roll-call.store.ts';

/**
 * How long a claim waits at most, whatever it asks for: by its next one the server knows that the instance is
 * still there (connectedSeconds), also when its host was lost with the connection standing. A wake-up that
 * was lost is made good by the next claim, too.
 */
export const claimWaitSeconds = 10;
/**
 * From what was read for one claim to the next one, which is judged by it until it is read again for that.
 */
export const betweenClaimsMilliseconds = claimWaitSeconds * 1_000 + 4_000;
/** A command that was told is told again after this. */
const repeatedAfterMilliseconds = 5_000;

interface ClaimServices extends Services {
  wakes: Wakes;
  owners: WorkOwners;
  times: WorkTimes;
  /** Aborted when the server stops: waiting claims answer at once, empty. */
  stopping: AbortSignal;
}

export function createClaims(services: ClaimServices, presence: Presence, known: KnownAgents) {
  const { wakes } = services;
  const quiet = createQuietInstances(wakes);
  const told = new Map<string, number>();
  const claimQuery = declareClaim(services.owners);
  const open = new Map<ServerResponse, OpenClaim>();
  services.stopping.addEventListener('abort', () => {
    for (const waiting of [...open.values()]) waiting.endWait();
  });

  async function ask(asking: OpenClaim): Promise<ClaimResponse> {
    const { agent, request, requestId } = asking;
    const looking = quiet.looking(asking);
    const { accountId, agentId, generation } = agent;
    const { instanceId, max } = request;
    const now = services.clock.now();
    const { ofInstance, asked, works } = await services.database.transaction((tx) => ({
      ofInstance: commandForInstance(tx, { agent, instanceId }),
      asked: collectCommands(tx, accountId, agentId, instanceId),
      works:
        max === 0
          ? []
          : claimWork(
              tx,
              claimQuery,
              { accountId, agentId, instanceId, max, requestId, generation },
              { now, newId: services.newId },
              services.times,
            ),
    }));
    // It was given for a token that counts, so what it reports needs no second look at that.
    if (works.length > 0) known.confirm(agent, agent);
    // A full hand leaves more on the table: the next one may have it.
    if (works.length === max && max > 0) wakes.wake(agentId, 'one');
    else if (max > 0 && asked.length === 0 && ofInstance.length === 0) looking.confirm();
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

  /**
   * A claim that must look: its sign of life is written now, and whether its token still counts is known
   * since a moment only.
   */
  async function arrive({ agent, instanceId, requestId }: OpenClaim): Promise<void> {
    const { accountId, agentId: actorId, generation } = agent;
    await Promise.all([
      presence.seen({ agent, instanceId }, requestId, true),
      known.identify({ accountId, actorId, generation }),
    ]);
  }

  /** One that was woken: perhaps because its agent was deleted, or its secret refreshed. */
  async function remain({ agent: { accountId, agentId: actorId, generation } }: OpenClaim): Promise<void> {
    await known.identify({ accountId, actorId, generation }, betweenClaimsMilliseconds);
  }

  /**
   * Who was woken for work and was given none: it may be for another instance, which knows its kind or has
   * its key.
   */
  async function passOn({ accountId, agentId }: CallingAgent, occasion: Occasion): Promise<void> {
    const waiting = await services.database.read(waitingWork, { account_id: accountId, agent_id: agentId });
    if (waiting.length > 0) wakes.pass(agentId, occasion);
  }

  const care = {
    wakes,
    async look(asking: OpenClaim, arrival = remain(asking)): Promise<ClaimResponse | undefined> {
      const [answer] = await Promise.all([ask(asking), arrival]);
      const { occasion } = asking;
      if (answer.work.length > 0) asking.occasion = undefined;
      if (asking.isOver || news(answer, asking.instanceId)) return remember(answer, asking.instanceId);
      asking.occasion = undefined;
      if (occasion !== undefined) passOn(asking.agent, occasion).catch(() => undefined);
      return undefined;
    },
    close: ({ reply }: OpenClaim) => void open.delete(reply.raw),
  };

  /** Of any claim; shared, because a listener of its own is one more thing that each keeps. */
  function onClose(this: ServerResponse): void {
    open.get(this)?.endWait();
  }

  return {
    /** Answers by the reply, sooner or later. */
    open(asking: Asking): void {
      const { request, reply } = asking;
      const seconds = services.stopping.aborted ? 0 : Math.min(request.waitSeconds, claimWaitSeconds);
      const opened = new OpenClaim(asking, seconds * 1_000, care);
      open.set(reply.raw, opened);
      reply.raw.on('close', onClose);
      if (seconds > 0 && quiet.has(opened)) {
        opened.listen();
        // It need not look: the roll call finds whether it must, or may not wait at all.
        presence.attend(opened);
      } else void opened.look(arrive(opened));
    },
  };
}

/** What was told, by what it is about. */
function keysOf({ commands, agentCommand }: ClaimResponse, instanceId: string): string[] {
  const keys = commands.map(({ workId, epoch, command }) => `${workId} ${epoch} ${command}`);
  return agentCommand === undefined ? keys : [...keys, `${instanceId} ${agentCommand}`];
}
