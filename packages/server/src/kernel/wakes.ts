/**
 * Waking those who wait: a long-poll of an agent is told at once, in this process after the commit, and on the other servers by one
 * coalesced NOTIFY. A message may be lost with a broken connection; whoever waits looks again by himself now and then.
 */
import { randomUUID } from 'node:crypto';
import { type Database, statement } from './database.ts';
import type { Log } from './log.ts';

const channel = 'headgate_wake';
const coalesceMilliseconds = 20;
const payloadLimit = 180;

const notify = statement(`select pg_notify('${channel}', $1)`);

export interface Wakes {
  /** Calls `wake` at the next occasion for the key, once. Answers how to stop waiting. */
  wait(key: string, wake: () => void): () => void;
  /** Wakes one waiter for new work, or all for what concerns each. */
  wake(key: string, whom: 'one' | 'all'): void;
  waiting(): number;
  close(): Promise<void>;
}

export async function openWakes(database: Database, log: Log): Promise<Wakes> {
  const server = randomUUID().slice(0, 8);
  const waiters = new Map<string, Set<() => void>>();
  const outgoing = new Map<string, 'one' | 'all'>();
  let timer: NodeJS.Timeout | undefined;
  let count = 0;

  function wakeHere(key: string, whom: 'one' | 'all'): boolean {
    const here = waiters.get(key);
    if (here === undefined) return false;
    for (const wake of [...here]) {
      here.delete(wake);
      count -= 1;
      wake();
      if (whom === 'one') break;
    }
    if (here.size === 0) waiters.delete(key);
    return true;
  }

  function flush(): void {
    timer = undefined;
    const entries = [...outgoing];
    outgoing.clear();
    for (let from = 0; from < entries.length; from += payloadLimit) {
      const payload = entries
        .slice(from, from + payloadLimit)
        .map(([key, whom]) => `${whom === 'one' ? 1 : 0}${key}`);
      database.read(notify, [`${server} ${payload.join(' ')}`]).catch((failure) => {
        log.debug({ err: failure }, 'a wake-up for other servers was lost');
      });
    }
  }

  const listener = await database.listen(channel, (message) => {
    const [sender, ...keys] = message.split(' ');
    if (sender === server) return;
    for (const key of keys) wakeHere(key.slice(1), key.startsWith('1') ? 'one' : 'all');
  });

  return {
    wait(key, wake) {
      let here = waiters.get(key);
      if (here === undefined) {
        here = new Set();
        waiters.set(key, here);
      }
      here.add(wake);
      count += 1;
      return () => {
        const left = waiters.get(key);
        if (left?.delete(wake)) count -= 1;
        if (left?.size === 0) waiters.delete(key);
      };
    },
    wake(key, whom) {
      // Someone here takes the work: the other servers need not hear of it.
      if (wakeHere(key, whom) && whom === 'one') return;
      outgoing.set(key, whom === 'all' ? 'all' : (outgoing.get(key) ?? 'one'));
      timer ??= setTimeout(flush, coalesceMilliseconds);
    },
    waiting: () => count,
    async close() {
      clearTimeout(timer);
      await listener.close();
    },
  };
}

/** Waits from now on for the next occasion for a key; who waits ends it, woken or not. */
export function createWait(wakes: Wakes, key: string) {
  const woken = Promise.withResolvers<boolean>();
  const end = wakes.wait(key, () => woken.resolve(true));
  return {
    end,
    /** Whether there was an occasion to look again. */
    async atMost(milliseconds: number, gone: AbortSignal): Promise<boolean> {
      const timer = setTimeout(() => woken.resolve(false), milliseconds);
      const giveUp = () => woken.resolve(false);
      gone.addEventListener('abort', giveUp, { once: true });
      const occasion = await woken.promise;
      // The signal may live as long as the server.
      gone.removeEventListener('abort', giveUp);
      clearTimeout(timer);
      return occasion;
    },
  };
}
