/**
 * Works on one kind of work that servers hold (docs/adr/0087). Every server has a worker for each kind: it looks for
 * due work, in turns by account, holds it by a lease, and runs it. A slice says what one run is, and what follows a
 * failure (CONTRIBUTING.md, "Add a kind of leased work").
 */
import { setTimeout as delay } from 'node:timers/promises';
import { addSeconds, type Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { Wakes } from '../database/wakes.ts';
import type { FailureLog } from '../failure-log.ts';
import type { Log } from '../log.ts';
import type { PeriodicJob } from '../retention/periodic-job.ts';
import { claimWork, type DueWork, listDueWork } from './due-work.ts';
import { mostInterruptions } from './interruption.ts';
import type { Leases } from './lease.ts';
import type { Places } from './places.ts';
import { type HeldWork, hastenAfterClockChange, LeaseLost, releaseWork } from './server-work.ts';

export interface WorkerServices {
  database: Database;
  clock: Clock;
  log: Log;
  failures: FailureLog;
  wakes: Wakes;
  leases: Leases;
  stopping: AbortSignal;
}

export interface ServerWorkKind {
  /** As in the table `server_work`. */
  kind: string;
  /** Of the periodic job, in the log. */
  name: string;
  leaseSeconds: number;
  places: Places;
  /** A look is at most this late. */
  lookMilliseconds: number;
  /** The key of wake-ups that announce work. */
  wakeKey?: string;
  /** From this count on, work is set aside; by default after the second interruption in a row. */
  mostInterruptions?: number;
  /** How much work that was interrupted is held at once, by default one. */
  interruptedAtOnce?: number;
  /** False: this server cannot work, and only sets aside what no other one has taken for `silentSeconds`. */
  canWork?(): Promise<boolean>;
  silentSeconds?: number;
  /**
   * Does the work, and ends the lease in the transaction of the result, by `releaseWork` or `removeWork`. `signal` is
   * aborted when the lease is lost, or the server stops; then it throws. `notBefore` is when the work was claimed, by
   * `performance.now()`.
   */
  run(held: HeldWork, signal: AbortSignal, notBefore: number): Promise<void>;
  /** Ends work that was interrupted too often. Without it, that is tried again for ever. */
  setAside?(held: HeldWork): Promise<void>;
  /** What follows a failure of `run`; by default, another attempt in half a minute. */
  fail?(held: HeldWork, failure: unknown): Promise<void>;
}

export interface ServerWorker {
  /** Begins what is due, up to the places. Returns whether it began something. */
  look(): Promise<boolean>;
  /** Begins these, which the slice found, as far as no server holds them. The caller has asked for their places. */
  take(ready: readonly DueWork[]): Promise<void>;
  /** Waits until what was begun has ended, or was given back. */
  wait(): Promise<void>;
  /** How much work this server holds. */
  count(): number;
}

/** Accounts that one look visits, and about the number of works. */
const mostOfLook = 256;
const retrySeconds = 30;
const noAccount = '00000000-0000-0000-0000-000000000000';

export function createServerWorker(services: WorkerServices, about: ServerWorkKind): ServerWorker {
  const { database, clock, leases, stopping } = services;
  const { places, interruptedAtOnce: mostInterrupted = 1 } = about;
  const underWay = new Set<Promise<void>>();
  /** The last account of a look that did not visit all. */
  let after = noAccount;
  let isLooking: Promise<boolean> | undefined;
  let mustLookAgain = false;
  /** The last look left work for want of places. */
  let isMore = false;

  function lookAfterEnd(): void {
    const mayHaveMore = isMore || isLooking !== undefined;
    // A failure comes again at the next look.
    if (mayHaveMore && !stopping.aborted) void look().catch(() => undefined);
  }

  function begin(held: HeldWork, sentAt: { milliseconds: number; now: Date }, isAside: boolean): void {
    const lease = leases.hold(held, about.leaseSeconds, sentAt);
    places.take(held.account_id);
    const working = doWork(services, about, held, lease.lost, {
      isAside: isAside || held.interruptions >= (about.mostInterruptions ?? mostInterruptions),
      notBefore: sentAt.milliseconds,
    }).finally(() => {
      lease.end();
      places.release(held.account_id);
      underWay.delete(working);
      lookAfterEnd();
    });
    underWay.add(working);
  }

  async function lookOnce(): Promise<number> {
    const free = Math.min(mostOfLook, places.countAllFree());
    isMore = free <= 0;
    if (isMore) return 0;
    const canWork = (await about.canWork?.()) ?? true;
    const now = clock.now();
    const fullAccounts = places.listFull();
    const due = await listDueWork(database.read, {
      kind: about.kind,
      after,
      fullAccounts,
      held: leases.listHeld(),
      limit: free,
      mostInterrupted,
      now: canWork ? now : addSeconds(now, -(about.silentSeconds ?? 0)),
    });
    const chosen = chooseWork(due, places);
    const accounts = new Set(due.map((each) => each.account_id));
    const isWhole = accounts.size < free && chosen.length === due.length;
    isMore = chosen.length < due.length || fullAccounts.length > 0;
    const began = after;
    after = isWhole
      ? noAccount
      : (chosen
          .map((each) => each.account_id)
          .toSorted()
          .at(-1) ?? noAccount);
    if (chosen.length === 0) return began === noAccount ? 0 : lookOnce();
    return claim(chosen, now, { isAside: !canWork });
  }

  async function claim(
    due: readonly DueWork[],
    now: Date,
    { isReady = false, isAside = false },
  ): Promise<number> {
    const { kind, leaseSeconds } = about;
    const sentAt = { milliseconds: performance.now(), now };
    const claimed = await claimWork(database, due, {
      kind,
      leaseSeconds,
      mostInterrupted,
      isReady,
      now,
    });
    for (const held of claimed) begin(held, sentAt, isAside);
    return claimed.length;
  }

  async function lookUntilFull(): Promise<boolean> {
    let count = 0;
    do {
      mustLookAgain = false;
      let claimed: number;
      do {
        claimed = stopping.aborted ? 0 : await lookOnce();
        count += claimed;
      } while (claimed > 0);
    } while (mustLookAgain && !stopping.aborted);
    return count > 0;
  }

  function look(): Promise<boolean> {
    mustLookAgain = isLooking !== undefined;
    isLooking ??= lookUntilFull().finally(() => {
      isLooking = undefined;
    });
    return isLooking;
  }

  return {
    look,
    async take(ready) {
      if (ready.length > 0) await claim(ready, clock.now(), { isReady: true });
    },
    async wait() {
      // A look that fails says so to who asked for it; what it began goes on.
      while (underWay.size > 0 || isLooking !== undefined) await Promise.allSettled([...underWay, isLooking]);
    },
    count: () => underWay.size,
  };
}

/** Takes one of each account, then a second one, and so on, as far as there are places. */
function chooseWork(due: readonly DueWork[], places: Places): DueWork[] {
  const queues = [...Map.groupBy(due, (each) => each.account_id).values()];
  const chosen: DueWork[] = [];
  for (let round = 0; queues.some((queue) => round < queue.length); round += 1)
    for (const queue of queues) {
      const next = queue[round];
      if (next === undefined || places.countFree(next.account_id) === 0) continue;
      places.take(next.account_id);
      chosen.push(next);
    }
  // What is claimed takes them again.
  for (const each of chosen) places.release(each.account_id);
  return chosen;
}

/** Never fails: at worst, another server takes the work when its lease has ended. */
async function doWork(
  services: WorkerServices,
  about: ServerWorkKind,
  held: HeldWork,
  lost: AbortSignal,
  { isAside, notBefore }: { isAside: boolean; notBefore: number },
): Promise<void> {
  const { database, clock, log, failures, stopping } = services;
  const job = `one of ${about.name}`;
  const names = { workId: held.work_id, accountId: held.account_id };
  try {
    if (isAside && about.setAside !== undefined) await about.setAside(held);
    else await about.run(held, AbortSignal.any([stopping, lost]), notBefore);
    failures.recordSuccess(job);
  } catch (failure) {
    if (lost.aborted || failure instanceof LeaseLost) {
      log.info(
        { err: failure, kind: about.kind, ...names },
        'work was taken over, or its subject was deleted',
      );
      return;
    }
    const giveBack = async (outcome: 'failed' | 'unfinished', seconds: number) => {
      const now = clock.now();
      await releaseWork(database.read, held, { outcome, dueAt: addSeconds(now, seconds), now });
    };
    try {
      if (stopping.aborted) return await giveBack('unfinished', 0);
      if (about.fail !== undefined) return await about.fail(held, failure);
      failures.recordFailure(job, failure, 'work failed; it will be tried again', names);
      await giveBack('failed', retrySeconds);
    } catch (another) {
      if (!(another instanceof LeaseLost))
        failures.recordFailure(job, another, 'work could not be given back; its lease ends soon', names);
    }
  }
}

/** The job that looks without end: at once after a wake-up or an end, otherwise at intervals. */
export function createWorkerJob(
  services: WorkerServices,
  about: ServerWorkKind,
  worker: ServerWorker = createServerWorker(services, about),
): PeriodicJob {
  const { wakes, stopping } = services;
  let ring = () => {};
  wakes.listen((key) => {
    if (key === undefined || key === about.wakeKey) ring();
  });
  return {
    name: about.name,
    everyMilliseconds: about.lookMilliseconds,
    firstAfterMilliseconds: 0,
    // One round lasts until the server stops, or the database fails.
    async run() {
      while (!stopping.aborted) {
        const rung = new AbortController();
        ring = () => rung.abort();
        await worker.look();
        const signal = AbortSignal.any([stopping, rung.signal]);
        await delay(about.lookMilliseconds, undefined, { signal }).catch(() => undefined);
      }
      await worker.wait();
      return false;
    },
  };
}

const clockMilliseconds = 5_000;

/** For all kinds. */
export function createClockJob({ database, clock }: Pick<WorkerServices, 'database' | 'clock'>): PeriodicJob {
  return {
    name: 'work after a change of the clock',
    everyMilliseconds: clockMilliseconds,
    async run() {
      await hastenAfterClockChange(database.read, clock.now());
      return false;
    },
  };
}
