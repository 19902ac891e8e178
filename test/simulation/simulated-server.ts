/** Servers with the real rules and one table of work, from work-model.ts instead of PostgreSQL. */
import type {
  ClaimRequest,
  ClaimResponse,
  HeartbeatRequest,
  HelloResponse,
  ReportsRequest,
  ReportsResponse,
  WorkCommand,
} from '../../packages/contract/src/index.ts';
import { claimWork, declareClaim } from '../../packages/server/src/kernel/work/claim.ts';
import {
  collectCommands,
  endWork,
  enqueueWork,
  sendCommand,
  type WorkOwner,
  type WorkTimes,
} from '../../packages/server/src/kernel/work/work.ts';
import { sweepWork } from '../../packages/server/src/kernel/work/work-sweep.ts';
import { applyReports, renewLeases } from '../../packages/server/src/runtime/agent-link/holding.ts';
import type { History } from './history.ts';
import type { VirtualTime } from './virtual-time.ts';
import { ModelDatabase } from './work-model.ts';

export const times: WorkTimes = {
  leaseSeconds: 15,
  graceSeconds: 30,
  heartbeatSeconds: 5,
  queueLimitSeconds: 120,
  runLimitSeconds: 60,
};

type Services = Parameters<typeof applyReports>[0] & Parameters<typeof sweepWork>[0];
type CallingAgent = Parameters<typeof applyReports>[1];

export const agent = { accountId: 'account', agentId: 'agent', name: 'agent', generation: 0 } as CallingAgent;
const account = agent.accountId;
const toldAgainMilliseconds = 5_000;

/** The owner of all simulated work, which only records. */
function listener(history: History, time: VirtualTime): WorkOwner {
  const moved =
    (what: string): WorkOwner['onStarted'] =>
    ({ tx }, works) =>
      tx.afterCommit(() => {
        for (const { work_id } of works) history.moved(work_id, what);
      });
  const movedById =
    (what: string): WorkOwner['onSilent'] =>
    ({ tx }, ids) =>
      tx.afterCommit(() => {
        for (const id of ids) history.moved(id, what);
      });
  return {
    claimed: { with: [], payload: 'select null' },
    onStarted: ({ tx }, works) =>
      tx.afterCommit(() => {
        for (const { work_id } of works) history.started(work_id);
      }),
    onSilent: movedById('silent'),
    onCameBack: movedById('back'),
    onRequeued: moved('queued again'),
    onEnded: ({ tx }, ends) =>
      tx.afterCommit(() => {
        for (const { workId, status } of ends) history.ended(workId, status, time.now);
      }),
  } as WorkOwner;
}

export class SimulatedServer {
  readonly database: ModelDatabase;
  readonly #services: Services;
  readonly #history: History;
  readonly #claimQuery: ReturnType<typeof declareClaim>;
  readonly #time: VirtualTime;
  #lastId = 0;
  /** When a command was last sent, by work. */
  readonly #told = new Map<string, number>();
  #waiting: (() => void)[] = [];

  constructor(time: VirtualTime, history: History, trip: () => Promise<void>) {
    this.database = new ModelDatabase(trip);
    this.#time = time;
    this.#history = history;
    const owners = new Map([['pipeline-execution', listener(history, time)]]);
    this.#claimQuery = declareClaim(owners);
    this.#services = {
      database: this.database,
      owners,
      times,
      clock: { now: () => this.now() },
      newId: () => `id ${++this.#lastId}`,
      wakes: { wake: () => this.#wake(), wait: () => () => undefined, waiting: () => 0 },
    } as unknown as Services;
  }

  now(): Date {
    return new Date(this.#time.now);
  }

  async enqueue(workId: string): Promise<void> {
    const work = {
      ...{ account_id: account, work_id: workId, project_id: 'project', environment_name: 'dev' },
      ...{ agent_id: agent.agentId, kind: 'pipeline-execution', name: 'main' },
    };
    this.#history.queued(workId, this.#time.now);
    await this.database.transaction((tx) => enqueueWork(tx, work, this.now()));
    this.#wake();
  }

  /** Like cancelPipelineExecution. */
  async cancel(workId: string, command: WorkCommand): Promise<void> {
    await this.database.transaction(async (tx) => {
      const [work] = await sendCommand(
        tx,
        { accountId: account, actorId: account },
        [workId],
        command,
        this.now(),
        times,
      );
      if (work?.state !== 'queued') return;
      endWork(tx, account, [workId], this.now());
      tx.afterCommit(() => this.#history.ended(workId, 'CANCELLED', this.#time.now));
    });
    this.#wake();
  }

  async sweep(): Promise<void> {
    await sweepWork(this.#services, this.#services.owners, times, this.now());
  }

  hello(): HelloResponse {
    const { heartbeatSeconds, leaseSeconds } = times;
    return {
      ...{ protocolVersion: 1, agentId: agent.agentId, name: agent.name, serverVersion: '0' },
      ...{ heartbeatSeconds, leaseSeconds, claimWaitSeconds: 25 },
    };
  }

  async heartbeat({ held }: HeartbeatRequest) {
    const newest = held.map(({ workId }) => this.#history.newestEpoch(workId));
    const answers = await renewLeases(this.#services, agent, held, 'request');
    for (const [index, { workId, epoch, state }] of answers.entries()) {
      if (state === 'held') this.#history.accepted(workId, epoch, newest[index] ?? 0);
    }
    return { held: answers };
  }

  async report({ reports }: ReportsRequest): Promise<ReportsResponse> {
    const newest = reports.map(({ workId }) => this.#history.newestEpoch(workId));
    const results = await applyReports(this.#services, agent, reports, 'request');
    for (const [index, { workId, epoch }] of reports.entries()) {
      if (results[index]?.accepted) this.#history.accepted(workId, epoch, newest[index] ?? 0);
    }
    return { results };
  }

  /** Waits while there is no work and the caller is not known to be gone. */
  async claim(request: ClaimRequest, gone: () => boolean): Promise<ClaimResponse> {
    const until = this.#time.now + request.waitSeconds * 1_000;
    while (!gone()) {
      const answer = await this.#look(request);
      const isNews = answer.work.length > 0 || answer.commands.length > 0;
      if (isNews || this.#time.now >= until) return answer;
      const left = Math.min(until - this.#time.now, toldAgainMilliseconds);
      await Promise.race([
        this.#time.sleep(left),
        new Promise<void>((resolve) => this.#waiting.push(resolve)),
      ]);
    }
    return { work: [], commands: [] };
  }

  async #look({ instanceId, max }: ClaimRequest): Promise<ClaimResponse> {
    const by = {
      accountId: account,
      agentId: agent.agentId,
      instanceId,
      max,
      requestId: 'request',
      generation: 0,
    };
    const at = { now: this.now(), newId: () => 'event' };
    const { works, commands } = await this.database.transaction((tx) => {
      const works = max === 0 ? [] : claimWork(tx, this.#claimQuery, by, at, times);
      tx.afterCommit(() => {
        for (const { work_id, epoch } of works) this.#history.claimed(work_id, epoch, instanceId);
      });
      return { works, commands: collectCommands(tx, account, agent.agentId, instanceId) };
    });
    const leaseExpiresAt = this.now().toISOString();
    return {
      work: works.map(({ work_id, epoch, kind }) => {
        const item = { workId: work_id, epoch, kind, leaseExpiresAt, payload: {} };
        return item as unknown as ClaimResponse['work'][number];
      }),
      commands: commands
        .map(({ work_id, epoch, command }) => ({ workId: work_id, epoch, command }))
        .filter((command) => this.#isFresh(`${command.workId} ${command.epoch} ${command.command}`)),
    };
  }

  #isFresh(key: string): boolean {
    const last = this.#told.get(key);
    if (last !== undefined && last > this.#time.now - toldAgainMilliseconds) return false;
    this.#told.set(key, this.#time.now);
    return true;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
