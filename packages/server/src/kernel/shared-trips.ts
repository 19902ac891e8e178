/**
 * Reads of the same moment share a trip to PostgreSQL (docs/adr/0020).
 *
 * A trip costs both sides a system call each way and a waking of the other. In one turn of the event loop a busy server takes the requests
 * of many connections, and what they ask for goes out together. The statements of a trip are one transaction: when one of them fails,
 * nothing was done, and each is asked again alone, so that none is told the failure of another.
 */
import type { Sent } from './batch.ts';

/** A trip of few leaves work for other connections, and no read waits for many others. */
const readsOfTrip = 8;

export interface SharedTripsOptions {
  /** Sends statements in one trip on a connection of its choice. */
  travel(items: readonly Sent[]): Promise<void>;
  /** Whether a failure says that PostgreSQL took nothing back but told it: asking again is harmless. */
  rolledBack(failure: unknown): boolean;
}

interface Read {
  items: readonly Sent[];
  resolve(): void;
  reject(failure: unknown): void;
}

/** Answers when the statements were answered; their rows lie in them. */
export type Ask = (items: readonly Sent[]) => Promise<void>;

export function createSharedTrips({ travel, rolledBack }: SharedTripsOptions): Ask {
  let waiting: Read[] = [];

  function alone({ items, resolve, reject }: Read): void {
    for (const item of items) item.rows.length = 0;
    travel(items).then(resolve, reject);
  }

  async function together(reads: readonly Read[]): Promise<void> {
    try {
      await travel(reads.flatMap((read) => read.items));
      for (const read of reads) read.resolve();
    } catch (failure) {
      if (rolledBack(failure)) for (const read of reads) alone(read);
      else for (const read of reads) read.reject(failure);
    }
  }

  function depart(): void {
    const leaving = waiting;
    waiting = [];
    for (let start = 0; start < leaving.length; start += readsOfTrip) {
      const [first, ...others] = leaving.slice(start, start + readsOfTrip);
      if (first !== undefined && others.length === 0) alone(first);
      else if (first !== undefined) void together([first, ...others]);
    }
  }

  return (items) => {
    if (items.some(({ statement }) => statement.alone)) return travel(items);
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(depart);
      waiting.push({ items, resolve, reject });
    });
  };
}
