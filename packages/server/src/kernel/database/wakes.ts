/**
 * Wakes the waiting long polls of agents: in this process after the commit, and on other servers by NOTIFY,
 * which combines several wake-ups. A broken connection may lose notifications, so after it is restored every
 * waiter checks again.
 *
 * Terminology
 *   occasion   something new for a key. An occasion for one waiter goes to the one that has waited longest. A
 *              waiter that cannot use it passes it on, but only to waiters that began before the occasion, so
 *              that it passes each of them once. A waiter that can never use one is woken only with all
 */
import { randomUUID } from 'node:crypto';
import type { Log } from '../log.ts';
import { type Database, statement } from './database.ts';

const channel = 'headgate_wake';
const coalesceMilliseconds = 20;
const payloadLimit = 180;
const notifyAgainMilliseconds = 1_000;
/** After missed notifications all waiters check again, in batches, because there may be ten thousand. */
const lookAgainAtOnce = 100;
const lookAgainEveryMilliseconds = 50;

const notify = statement({ parameters: { payload: 'text' } }, `select pg_notify('${channel}', $payload)`);

/** Passed to a waiter when only one is woken; undefined when all are. */
export interface Occasion {
  /** Waiters with a higher number began later and have already checked. */
  readonly number: number;
  readonly isFromHere: boolean;
}

export interface Wakes {
  /** Wakes the waiter once, at the next occasion for the key. */
  wait(key: string, waiter: Waiter): void;
  /** Removes the waiter, whether or not it was woken. */
  stopWaiting(key: string, waiter: Waiter): void;
  /** Wakes one waiter, for a new run, or all waiters, for other work and for news that concerns each. */
  wake(key: string, target: 'one' | 'all'): void;
  /** Called by a woken waiter that cannot use the occasion. */
  pass(key: string, occasion: Occasion): void;
  /**
   * Calls `onWake` with each key before waking its waiters, and without a key when notifications may have been
   * missed.
   */
  listen(onWake: (key?: string) => void): void;
  /** Of this key, by default of all. */
  countWaiting(key?: string): number;
  close(): Promise<void>;
}

export interface Waiter {
  /** Set by `wait`: the order of waiters and occasions. */
  number: number;
  /** Whether it can use an occasion for one waiter. By default it can. */
  takesOccasions?: boolean;
  wake(occasion?: Occasion): void;
}

export async function openWakes(database: Database, log: Log): Promise<Wakes> {
  const server = randomUUID().slice(0, 8);
  /** By key, in the order in which they began; usually one each. */
  const waiters = new Map<string, Waiter[]>();
  const outgoing = new Map<string, 'one' | 'all'>();
  const listeners: ((key?: string) => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let lookingAgain: NodeJS.Timeout | undefined;
  let isClosed = false;
  let count = 0;
  let lastNumber = 0;

  function removeWaiter(key: string, waiter: Waiter): void {
    const here = waiters.get(key);
    const place = here?.indexOf(waiter) ?? -1;
    if (here === undefined || place < 0) return;
    here.splice(place, 1);
    count -= 1;
    if (here.length === 0) waiters.delete(key);
  }

  function wakeAll(key: string): void {
    for (const waiter of [...(waiters.get(key) ?? [])]) {
      removeWaiter(key, waiter);
      waiter.wake();
    }
  }

  /** Wakes the longest waiter that began before the occasion. Returns false if there is none. */
  function wakeOne(key: string, occasion: Occasion): boolean {
    const first = waiters.get(key)?.find(({ takesOccasions }) => takesOccasions !== false);
    if (first === undefined || first.number > occasion.number) return false;
    removeWaiter(key, first);
    first.wake(occasion);
    return true;
  }

  function wakeAllKeys(): void {
    for (const onWake of listeners) onWake();
    clearTimeout(lookingAgain);
    const keys = [...waiters.keys()];
    const wakeNextBatch = () => {
      for (const key of keys.splice(0, lookAgainAtOnce)) wakeAll(key);
      if (keys.length > 0) lookingAgain = setTimeout(wakeNextBatch, lookAgainEveryMilliseconds);
    };
    wakeNextBatch();
  }

  function queueNotification(
    key: string,
    target: 'one' | 'all',
    inMilliseconds = coalesceMilliseconds,
  ): void {
    outgoing.set(key, target === 'all' ? 'all' : (outgoing.get(key) ?? 'one'));
    if (!isClosed) timer ??= setTimeout(flush, inMilliseconds);
  }

  function dispatchWake(key: string, target: 'one' | 'all', isFromHere: boolean): void {
    for (const onWake of listeners) onWake(key);
    if (target === 'all') {
      wakeAll(key);
      if (isFromHere) queueNotification(key, 'all');
      return;
    }
    lastNumber += 1;
    // If a waiter on this server takes the work, the other servers need no notification.
    if (!wakeOne(key, { number: lastNumber, isFromHere }) && isFromHere) queueNotification(key, 'one');
  }

  function flush(): void {
    timer = undefined;
    const entries = [...outgoing];
    outgoing.clear();
    for (let from = 0; from < entries.length; from += payloadLimit) {
      const some = entries.slice(from, from + payloadLimit);
      const payload = some.map(([key, target]) => `${target === 'one' ? 1 : 0}${key}`);
      database.read(notify, { payload: `${server} ${payload.join(' ')}` }).catch((failure) => {
        log.debug({ err: failure }, 'could not notify the other servers of new work; retrying');
        for (const [key, target] of some) queueNotification(key, target, notifyAgainMilliseconds);
      });
    }
  }

  const listener = await database.listen(channel, {
    message(text) {
      const [sender, ...keys] = text.split(' ');
      if (sender === server) return;
      for (const key of keys) dispatchWake(key.slice(1), key.startsWith('1') ? 'one' : 'all', false);
    },
    missed() {
      log.info(
        { waiting: count },
        'listening for notifications again; all waiting requests check for new work',
      );
      wakeAllKeys();
    },
  });

  return {
    wait(key, waiter) {
      lastNumber += 1;
      waiter.number = lastNumber;
      const here = waiters.get(key);
      if (here === undefined) waiters.set(key, [waiter]);
      else here.push(waiter);
      count += 1;
    },
    stopWaiting: removeWaiter,
    wake: (key, target) => dispatchWake(key, target, true),
    pass(key, occasion) {
      if (!wakeOne(key, occasion) && occasion.isFromHere) queueNotification(key, 'one');
    },
    listen: (onWake) => void listeners.push(onWake),
    countWaiting: (key) => (key === undefined ? count : (waiters.get(key)?.length ?? 0)),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(lookingAgain);
      await listener.close();
    },
  };
}

/** Starts waiting for the next occasion for a key. The caller must call `end`, woken or not. */
export function createWait(wakes: Wakes, key: string): Wait {
  return new Wait(wakes, key);
}

export class Wait implements Waiter {
  readonly #wakes: Wakes;
  readonly #key: string;
  readonly #woken = Promise.withResolvers<void>();
  #isWoken = false;
  number = 0;

  constructor(wakes: Wakes, key: string) {
    this.#wakes = wakes;
    this.#key = key;
    wakes.wait(key, this);
  }

  end(): void {
    this.#wakes.stopWaiting(this.#key, this);
  }

  wake(): void {
    this.#isWoken = true;
    this.#woken.resolve();
  }

  /**
   * Resolves at the next occasion, at the timeout, or when the server stops. Returns whether there was an
   * occasion.
   */
  async waitAtMost(milliseconds: number, stopping: AbortSignal): Promise<boolean> {
    const wakeNow = () => this.#woken.resolve();
    const timer = setTimeout(wakeNow, milliseconds);
    stopping.addEventListener('abort', wakeNow);
    if (stopping.aborted) wakeNow();
    await this.#woken.promise;
    clearTimeout(timer);
    stopping.removeEventListener('abort', wakeNow);
    return this.#isWoken;
  }
}
