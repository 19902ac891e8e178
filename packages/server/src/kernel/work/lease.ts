/**
 * The leases of one server: it extends all of them by one statement, and ends what is done under one that is lost.
 *
 * The clock of the database rows may be moved; whether this server surely holds a lease is judged by
 * `performance.now()`. A server that cannot extend a lease in time must stop, as another one may begin.
 */
import { addSeconds, type Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import { extendLeases, type HeldWork } from './server-work.ts';

export interface Lease {
  /** Aborted when the lease is lost. */
  readonly lost: AbortSignal;
  /** The work was given back, or has ended. */
  end(): void;
}

export interface Leases {
  /** @param sentAt when the claim was sent, by `performance.now()` and by the clock */
  hold(work: HeldWork, seconds: number, sentAt: { milliseconds: number; now: Date }): Lease;
  /** The ids of the work that this server holds, without what it has lost. */
  listHeld(): string[];
}

interface Held {
  work: HeldWork;
  seconds: number;
  lost: AbortController;
  /** Until when the lease surely holds, by `performance.now()`. */
  until: number;
  extendedAt: Date;
}

const tickMilliseconds = 1_000;
/** A lease is extended when this part of it has passed, so that several attempts can fail. */
const extendedPart = 1 / 4;

export function createLeases({ database, clock }: { database: Database; clock: Clock }): Leases {
  /** The same work may be here twice, while what is done under a lost lease ends. */
  const all = new Set<Held>();
  let timer: NodeJS.Timeout | undefined;
  let isExtending = false;

  async function extendOld(): Promise<void> {
    const [began, now] = [performance.now(), clock.now()];
    // By either clock: what other servers see depends on the one that may be moved, and back makes leases old, too.
    const old = [...all].filter(({ extendedAt, until, seconds, lost }) => {
      const milliseconds = seconds * 1_000;
      const passed = now.getTime() - extendedAt.getTime();
      const isOld = Math.max(passed, began + milliseconds - until) >= milliseconds * extendedPart;
      return !lost.signal.aborted && (passed < 0 || isOld);
    });
    if (old.length === 0) return;
    const extended = await extendLeases(
      database.read,
      old.map(({ work, seconds }) => ({ ...work, leaseUntil: addSeconds(now, seconds) })),
      now,
    );
    const nameOf = ({ work_id, epoch }: Pick<HeldWork, 'work_id' | 'epoch'>) => `${work_id} ${epoch}`;
    const still = new Set(extended.map(nameOf));
    for (const held of old) {
      if (still.has(nameOf(held.work))) {
        held.until = began + held.seconds * 1_000;
        held.extendedAt = now;
      } else held.lost.abort();
    }
  }

  function tick(): void {
    // Also while an extension hangs: another server may have begun.
    for (const { lost, until } of all) if (performance.now() > until) lost.abort();
    if (isExtending) return;
    isExtending = true;
    // Without the database it is tried at each tick, until the lease ends.
    void extendOld()
      .catch(() => undefined)
      .finally(() => {
        isExtending = false;
      });
  }

  return {
    hold(work, seconds, sentAt) {
      const lost = new AbortController();
      const until = sentAt.milliseconds + seconds * 1_000;
      const held: Held = { work, seconds, lost, until, extendedAt: sentAt.now };
      all.add(held);
      timer ??= setInterval(tick, tickMilliseconds);
      return {
        lost: lost.signal,
        end() {
          all.delete(held);
          if (all.size > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
      };
    },
    listHeld: () => [...all].flatMap(({ work, lost }) => (lost.signal.aborted ? [] : work.work_id)),
  };
}
