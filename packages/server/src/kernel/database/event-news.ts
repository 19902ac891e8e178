/**
 * Wakes those that wait for events of an account, after the commits that wrote some. The first commit wakes at
 * once; those that follow closely share one wake-up, so that many writes cost few notifications.
 */
import type { Database } from './database.ts';
import type { Wakes } from './wakes.ts';

const restMilliseconds = 50;

/** The key of the wake-ups for new events of an account. */
export function getEventsKey(accountId: string): string {
  return `events:${accountId}`;
}

export interface EventNews {
  close(): void;
}

export function announceEvents(database: Database, wakes: Wakes): EventNews {
  /** Accounts that were woken a moment ago, and whether they have events since. */
  const resting = new Map<string, boolean>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function wake(accountId: string): void {
    resting.set(accountId, false);
    wakes.wake(getEventsKey(accountId), 'all');
    timer ??= setTimeout(endRest, restMilliseconds);
  }

  function endRest(): void {
    timer = undefined;
    const woken = [...resting];
    resting.clear();
    for (const [accountId, hasNews] of woken) if (hasNews) wake(accountId);
  }

  database.watchEvents((accountId) => {
    if (isClosed) return;
    if (resting.has(accountId)) resting.set(accountId, true);
    else wake(accountId);
  });
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
