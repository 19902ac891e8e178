/**
 * The long poll of claims: an instance asks for work, and gets a response when there is work or a command,
 * or when its time is over. Most of ten thousand waiting claims find nothing. So the claim of an instance
 * that is known to have nothing waiting does not query the database (docs/adr/0026).
 */
import type { ServerResponse } from 'node:http';
import type { ClaimResponse, Command, WorkItem } from '@headgate/contract';
import type { Occasion, Wakes } from '../../kernel/database/wakes.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { claimWork, declareClaim } from '../../kernel/work/claim.ts';
import { endUnpermittedWork } from '../../kernel/work/forbidden-work.ts';
import { chooseTarget, collectCommands, type WorkOwners, type WorkTimes } from '../../kernel/work/work.ts';
import { collectInstanceCommand } from './instance.store.ts';
import type { CallingAgent, KnownAgents } from './known-agents.ts';
import { type Asking, OpenClaim } from './open-claim.ts';
import type { Presence } from './presence.ts';
import { createQuietInstances } from './quiet-instances.ts';
import { waitingWork } from './roll-call.store.ts';

/** A command that was sent is sent again after this time. */
const repeatedAfterMilliseconds = 5_000;

interface ClaimServices extends Services {
  wakes: Wakes;
  owners: WorkOwners;
  times: WorkTimes;
  /**
   * The longest that a claim waits. The next claim shows that the instance is still connected
   * (connectedSeconds), even if its host was lost without closing the connection. It also recovers from a
   * lost wake-up.
   */
  claimWaitSeconds: number;
  /** Aborted when the server stops: waiting claims then get an empty response. */
  stopping: AbortSignal;
}

export function createClaims(services: ClaimServices, presence: Presence, known: KnownAgents) {
  const { wakes } = services;
  /** How long a check of the token holds: until the next claim, which checks it again. */
  const betweenMilliseconds = services.claimWaitSeconds * 1_000 + 4_000;
  const quiet = createQuietInstances(wakes);
  const sentAt = new Map<string, number>();
  const claimQuery = declareClaim(services.owners);
  const open = new Map<ServerResponse, OpenClaim>();
  services.stopping.addEventListener('abort', () => {
    for (const waiting of [...open.values()]) waiting.endWait();
  });

  async function queryWork(asking: OpenClaim): Promise<ClaimResponse> {
    const { agent, request, requestId } = asking;
    const looking = quiet.looking(asking);
    const { accountId, agentId, generation } = agent;
    const { instanceId, max, maxShort } = request;
    const most = max + (maxShort ?? 0);
    const now = services.clock.now();
    const {
      ofInstance,
      commands,
      works: found,
    } = await services.database.transaction((tx) => ({
      ofInstance: collectInstanceCommand(tx, { agent, instanceId }),
      commands: collectCommands(tx, accountId, agentId, instanceId),
      works:
        most === 0
          ? []
          : claimWork(
              tx,
              claimQuery,
              { accountId, agentId, instanceId, max, maxShort, requestId, generation },
              { now, newId: services.newId },
              services.times,
            ),
    }));
    const works = found.filter((work) => work.payload !== null);
    if (works.length < found.length) {
      const workIds = found.filter((work) => work.payload === null).map((work) => work.work_id);
      await endUnpermittedWork(services, services.owners, { accountId, workIds }, now);
      // There may be other work, which the refused work hid.
      if (works.length === 0) return queryWork(asking);
    }
    // The claim found the token valid, so the reports of this work need no second check.
    if (works.length > 0) known.confirm(agent, agent);
    // After a claim that filled places there may be more work for the next one.
    if (found.length > 0 && found.length >= Math.min(max || most, maxShort || most))
      wakes.wake(agentId, chooseTarget(found));
    else if (most > 0 && commands.length === 0 && ofInstance.length === 0) looking.confirm();
    const leaseExpiresAt = new Date(now.getTime() + services.times.leaseSeconds * 1_000).toISOString();
    return {
      work: works.map(
        ({ work_id, epoch, kind, payload, share }) =>
          ({ workId: work_id, epoch, kind, leaseExpiresAt, payload, environmentShare: share }) as WorkItem,
      ),
      commands: commands.map(
        (row): Command => ({
          workId: row.work_id,
          epoch: row.epoch,
          command: row.command,
          ...(row.command_by === null ? {} : { requestedBy: row.command_by }),
        }),
      ),
      ...(ofInstance[0] === undefined ? {} : { agentCommand: ofInstance[0].command }),
    };
  }

  /**
   * Whether a response has work, or a command that was not sent recently. Heartbeats repeat commands until
   * the agent obeys.
   */
  function hasNews(answer: ClaimResponse, instanceId: string): boolean {
    const before = services.clock.now().getTime() - repeatedAfterMilliseconds;
    return (
      answer.work.length > 0 ||
      listCommandKeys(answer, instanceId).some((key) => (sentAt.get(key) ?? 0) < before)
    );
  }

  function remember(answer: ClaimResponse, instanceId: string): ClaimResponse {
    const now = services.clock.now().getTime();
    for (const [key, at] of sentAt) if (at < now - 60_000) sentAt.delete(key);
    for (const key of listCommandKeys(answer, instanceId)) sentAt.set(key, now);
    return answer;
  }

  /** Before a claim queries the database, record its sign of life and check its token. */
  async function recordArrival({ agent, instanceId, requestId }: OpenClaim): Promise<void> {
    const { accountId, agentId: actorId, generation } = agent;
    await Promise.all([
      presence.seen({ agent, instanceId }, requestId, true),
      known.identify({ accountId, actorId, generation }),
    ]);
  }

  /** After a wake-up, check the token again: the agent may be deleted, or its secret refreshed. */
  async function checkToken({
    agent: { accountId, agentId: actorId, generation },
  }: OpenClaim): Promise<void> {
    await known.identify({ accountId, actorId, generation }, betweenMilliseconds);
  }

  /**
   * Passes on a wake-up for work that this claim did not get: the work may be for another instance, with
   * the right abilities or key.
   */
  async function passOn({ accountId, agentId }: CallingAgent, occasion: Occasion): Promise<void> {
    const waiting = await services.database.read(waitingWork, { account_id: accountId, agent_id: agentId });
    if (waiting.length > 0) wakes.pass(agentId, occasion);
  }

  const care = {
    wakes,
    async look(asking: OpenClaim, arrival = checkToken(asking)): Promise<ClaimResponse | undefined> {
      const [answer] = await Promise.all([queryWork(asking), arrival]);
      const { occasion } = asking;
      if (answer.work.length > 0) asking.occasion = undefined;
      if (asking.isOver || hasNews(answer, asking.instanceId)) return remember(answer, asking.instanceId);
      asking.occasion = undefined;
      if (occasion !== undefined) passOn(asking.agent, occasion).catch(() => undefined);
      return undefined;
    },
    close: ({ reply }: OpenClaim) => void open.delete(reply.raw),
  };

  /** Shared by all claims, to spare one listener each. */
  function endClosedClaim(this: ServerResponse): void {
    open.get(this)?.endWait();
  }

  return {
    betweenMilliseconds,
    /** Opens a claim, which responds through the reply. */
    open(asking: Asking): void {
      const { request, reply } = asking;
      const seconds = services.stopping.aborted
        ? 0
        : Math.min(request.waitSeconds, services.claimWaitSeconds);
      const opened = new OpenClaim(asking, seconds * 1_000, care);
      open.set(reply.raw, opened);
      reply.raw.on('close', endClosedClaim);
      if (seconds > 0 && quiet.has(opened)) {
        opened.listen();
        // No query: the roll call finds out whether it must look, or may no longer wait.
        presence.attend(opened);
      } else void opened.look(recordArrival(opened));
    },
  };
}

/** The keys of the commands in a response. */
function listCommandKeys({ commands, agentCommand }: ClaimResponse, instanceId: string): string[] {
  const keys = commands.map(({ workId, epoch, command }) => `${workId} ${epoch} ${command}`);
  return agentCommand === undefined ? keys : [...keys, `${instanceId} ${agentCommand}`];
}
