/**
 * What is asked of PostgreSQL at one moment by several requests shares a trip (docs/adr/0020).
 *
 * Terminology
 *   trip         statements sent together and answered together, in one transaction (batch.ts)
 *   passenger    the statements of one request: a read, or a write that is one trip by itself
 *
 * A trip costs both sides a system call each way and a waking of the other, and a write its commit. When a trip that is shared fails, nothing
 * of it was done, and each passenger goes again alone: so none is told the failure of another, and none is refused for what another did.
 */
import type { Sent } from './batch.ts';
import { isDatabaseError } from './database-error.ts';

/** A trip of few leaves work for other connections, and nobody waits for many others. */
const readsOfTrip = 8;
const writesOfTrip = 16;
/** Where one write was refused others may be, and each refusal costs the others of its trip a second one. */
const writesAloneAfterFailure = 64;

/** Sends statements; settles when they are answered, with their rows in them. */
export type Send = (items: readonly Sent[]) => Promise<void>;

interface Passenger {
  items: readonly Sent[];
  resolve(): void;
  reject(failure: unknown): void;
}

/** Reads of the same turn of the event loop travel together. */
export function createSharedReads(send: Send): Send {
  let waiting: Passenger[] = [];

  function depart(): void {
    const leaving = waiting;
    waiting = [];
    for (let start = 0; start < leaving.length; start += readsOfTrip) {
      travel(leaving.slice(start, start + readsOfTrip), send, send);
    }
  }

  return (items) => {
    if (isSentAlone(items)) return send(items);
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(depart);
      waiting.push({ items, resolve, reject });
    });
  };
}

/**
 * Writes travel together while one trip of them is under way: on an idle server each goes at once, on a busy one those that came meanwhile
 * share the next trip and its commit.
 *
 * @param together sends on a connection that gives up soon when it must wait for a lock: one write that waits must not hold up the others
 * @param alone sends on any other connection, where it may wait
 */
export function createSharedWrites({ together, alone }: { together: Send; alone: Send }): Send {
  const waiting: Passenger[] = [];
  let underWay = false;
  let toGoAlone = 0;

  function depart(): void {
    underWay = true;
    const leaving = waiting.splice(0, writesOfTrip);
    // The next ones leave before those that arrived go on: the connection is not to wait for them.
    travel(leaving, together, alone, (arrived) => {
      underWay = false;
      if (!arrived) toGoAlone = writesAloneAfterFailure;
      if (waiting.length > 0) depart();
    });
  }

  return (items) => {
    if (toGoAlone > 0 || isSentAlone(items)) {
      toGoAlone = Math.max(0, toGoAlone - 1);
      return alone(items);
    }
    return new Promise((resolve, reject) => {
      waiting.push({ items, resolve, reject });
      if (!underWay) depart();
    });
  };
}

/** One trip. When it fails, each passenger goes alone if that can tell more, and is refused if it cannot; `over` hears false in the first case. */
function travel(
  passengers: readonly Passenger[],
  together: Send,
  alone: Send,
  over: (arrived: boolean) => void = () => undefined,
): void {
  function arrive(): void {
    over(true);
    for (const { resolve } of passengers) resolve();
  }
  function fail(failure: unknown): void {
    // Only of what PostgreSQL itself refused is it known that nothing of it was done.
    const again = isDatabaseError(failure) && (passengers.length > 1 || failure.code === lockNotAvailable);
    over(!again);
    for (const { items, resolve, reject } of passengers) {
      if (!again) reject(failure);
      else {
        for (const item of items) item.rows.length = 0;
        alone(items).then(resolve, reject);
      }
    }
  }
  together(passengers.flatMap(({ items }) => items)).then(arrive, fail);
}

/** The connection gave up waiting (PostgreSQL, Appendix A: lock_not_available). */
const lockNotAvailable = '55P03';

function isSentAlone(items: readonly Sent[]): boolean {
  return items.some(({ statement }) => statement.alone);
}
