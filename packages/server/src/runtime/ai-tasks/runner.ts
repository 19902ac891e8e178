/**
 * Works on AI tasks. Every server has one runner. It claims what is due, and what a silent server had, and holds it
 * by leases that one statement extends for all. A lease that is lost ends the work on the task at once.
 */
import { addSeconds } from '../../kernel/clock.ts';
import { handleFailedStep } from './failed-step.ts';
import { claimTasks, extendLeases, giveTaskBack, type HeldKey, LeaseLost } from './store/held-task.store.ts';
import { type RunServices, runTask } from './store/task-run.ts';
import { takeStep } from './task-step.ts';

export interface Runner {
  /** Begins what is due, up to the limit of this server. */
  look(): Promise<void>;
  /** Waits until what was begun has ended, waits or was given back. */
  wait(): Promise<void>;
  /** How many tasks this server works on. */
  count(): number;
}

const leaseSeconds = 20;
const beatMilliseconds = 5_000;

interface Held {
  key: HeldKey;
  lost: AbortController;
  /** Until when the lease surely holds, by `performance.now()`. */
  until: number;
  work: Promise<void>;
}

export function createRunner(services: RunServices & { stopping: AbortSignal }): Runner {
  const { database, clock, log, stopping, settings } = services;
  /** The same task may be here twice, while the work on a lost one ends. */
  const held = new Set<Held>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking: Promise<void> | undefined;
  let mustLookAgain = false;

  async function work(entry: Held): Promise<void> {
    const { key, lost } = entry;
    const signal = AbortSignal.any([stopping, lost.signal]);
    try {
      await runTask(services, key, signal, takeStep);
    } catch (failure) {
      await endWork(key, failure, lost.signal.aborted);
    } finally {
      held.delete(entry);
      if (held.size === 0) {
        clearInterval(timer);
        timer = undefined;
      }
    }
  }

  async function endWork(key: HeldKey, failure: unknown, isLost: boolean): Promise<void> {
    if (isLost || failure instanceof LeaseLost) {
      const about = { err: failure, taskId: key.task_id };
      log.info(about, 'an AI task was deleted, or another server took it over');
    } else if (stopping.aborted) await giveTaskBack(database.read, key, clock.now()).catch(() => undefined);
    else await handleFailedStep(services, key, failure);
  }

  function begin(key: HeldKey, sentAt: number): void {
    const lost = new AbortController();
    const entry: Held = { key, lost, until: sentAt + leaseSeconds * 1_000, work: Promise.resolve() };
    held.add(entry);
    entry.work = work(entry);
    timer ??= setInterval(() => void beat(), beatMilliseconds);
  }

  /** A server that cannot extend a lease in time must stop, as another one may begin. */
  async function beat(): Promise<void> {
    const now = performance.now();
    for (const { lost, until } of held) if (now > until) lost.abort();
    const entries = [...held];
    const until = addSeconds(clock.now(), leaseSeconds);
    const kept = await extendLeases(
      database.read,
      entries.map(({ key }) => key),
      until,
    ).catch(() => undefined);
    if (kept === undefined) return;
    const nameOf = (each: Pick<HeldKey, 'task_id' | 'epoch'>) => `${each.task_id} ${each.epoch}`;
    const still = new Set(kept.map(nameOf));
    for (const entry of entries) {
      if (still.has(nameOf(entry.key))) entry.until = now + leaseSeconds * 1_000;
      else entry.lost.abort();
    }
  }

  async function lookOnce(): Promise<void> {
    do {
      mustLookAgain = false;
      const limit = settings.concurrency - held.size;
      if (limit <= 0 || stopping.aborted) return;
      const sentAt = performance.now();
      const claimed = await claimTasks(database.read, { limit, leaseSeconds, now: clock.now() });
      for (const key of claimed) begin(key, sentAt);
      // Each that ends makes room, and a task may have come meanwhile.
    } while (mustLookAgain);
  }

  return {
    look() {
      if (isLooking !== undefined) {
        mustLookAgain = true;
        return isLooking;
      }
      isLooking = lookOnce().finally(() => {
        isLooking = undefined;
      });
      return isLooking;
    },
    async wait() {
      while (held.size > 0) await Promise.all([...held].map((entry) => entry.work));
    },
    count: () => held.size,
  };
}
