/**
 * Statements of several concurrent requests share one round trip (docs/adr/0020).
 *
 * Terminology
 *   trip         statements that are sent and answered together, in one transaction (batch.ts)
 *   order        the statements of one request: a read, or a write that needs one trip only
 *
 * A trip costs both sides a system call each way and a context switch, and a write also a commit. If a shared
 * trip fails, it was rolled back, and each order is repeated alone. So no request gets the failure of
 * another.
 */
import type { Sent } from './batch.ts';
import { isDatabaseError } from './database-error.ts';

/** Small trips leave work for other connections and keep waiting times short. */
const readsOfTrip = 8;
const writesOfTrip = 16;
/** After one refused write, more may follow, and each costs the other orders a second trip. */
const writesAloneAfterFailure = 64;

/** Sends statements. Resolves when their rows have arrived. */
export type Send = (items: readonly Sent[]) => Promise<void>;

interface Order {
  items: readonly Sent[];
  resolve(): void;
  reject(failure: unknown): void;
}

/** Combines the reads of one turn of the event loop. */
export function createSharedReads(send: Send): Send {
  let waiting: Order[] = [];

  function sendWaiting(): void {
    const orders = waiting;
    waiting = [];
    for (let start = 0; start < orders.length; start += readsOfTrip) {
      sendTrip(orders.slice(start, start + readsOfTrip), send, send);
    }
  }

  return (items) => {
    if (isSentAlone(items)) return send(items);
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(sendWaiting);
      waiting.push({ items, resolve, reject });
    });
  };
}

/**
 * Combines the writes that arrive while a trip is in progress. On an idle server each write is sent at once;
 * on a busy one the waiting writes share the next trip and its commit.
 *
 * @param together sends on a connection with a short lock timeout, so that one blocked write does not delay
 * the others @param alone sends on any other connection, which may wait for locks
 */
export function createSharedWrites({ together, alone }: { together: Send; alone: Send }): Send {
  const waiting: Order[] = [];
  let underWay = false;
  let toGoAlone = 0;

  function sendWaiting(): void {
    underWay = true;
    const orders = waiting.splice(0, writesOfTrip);
    // Start the next trip before resolving the finished one, so that the connection is not idle.
    sendTrip(orders, together, alone, (isSent) => {
      underWay = false;
      if (!isSent) toGoAlone = writesAloneAfterFailure;
      if (waiting.length > 0) sendWaiting();
    });
  }

  return (items) => {
    if (toGoAlone > 0 || isSentAlone(items)) {
      toGoAlone = Math.max(0, toGoAlone - 1);
      return alone(items);
    }
    return new Promise((resolve, reject) => {
      waiting.push({ items, resolve, reject });
      if (!underWay) sendWaiting();
    });
  };
}

/**
 * Sends one trip. If it fails, each order is sent alone when that may succeed, and rejected otherwise.
 * `onEnd` gets false in the first case.
 */
function sendTrip(
  orders: readonly Order[],
  together: Send,
  alone: Send,
  onEnd: (isSent: boolean) => void = () => undefined,
): void {
  function resolveAll(): void {
    onEnd(true);
    for (const { resolve } of orders) resolve();
  }
  function repeatOrReject(failure: unknown): void {
    // Only an error from PostgreSQL itself proves that nothing was committed.
    const again = isDatabaseError(failure) && (orders.length > 1 || failure.code === lockNotAvailable);
    onEnd(!again);
    for (const { items, resolve, reject } of orders) {
      if (!again) reject(failure);
      else {
        for (const item of items) {
          item.rows.length = 0;
          item.isTooLarge = false;
        }
        alone(items).then(resolve, reject);
      }
    }
  }
  together(orders.flatMap(({ items }) => items)).then(resolveAll, repeatOrReject);
}

/** The lock timeout expired (PostgreSQL, Appendix A: lock_not_available). */
const lockNotAvailable = '55P03';

function isSentAlone(items: readonly Sent[]): boolean {
  return items.some(({ statement }) => statement.alone);
}
