/**
 * Reads the end of the log once for all streams of an account at this server, so that a hundred streams cost
 * little more than one (docs/adr/0056).
 *
 * Terminology
 *   follower   reads the log of one account while it has readers
 *   round      the events that one read of a follower found, and what each reader may read of them. Rounds follow
 *              each other without gaps. The last ones are kept; a stream that is further behind reads by itself
 *   end        the position up to which the follower has read
 */
import { setTimeout as delay, setImmediate as yieldToRequests } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { getEventsKey } from '../../kernel/database/event-news.ts';
import { createWait, type Wakes } from '../../kernel/database/wakes.ts';
import { renderEvents } from './event-text.ts';
import { type LoggedEvent, readEventsAfter, readLogBounds } from './log/event-log.ts';
import { type EventReach, type EventReader, readEventReaches } from './log/event-reach.ts';

const eventsOfRound = 500;
const keptRounds = 20;
/** The longest wait. Then the rights are read again. */
const waitMilliseconds = 10_000;
/**
 * Commits that follow each other closely are served together. More readers rest longer, so that a server sends
 * at most 500 times a second.
 */
const shortestRestMilliseconds = 50;
const restMillisecondsOfReader = 2;
const readersWokenAtOnce = 8;

export interface Round {
  /** The position before its first event. */
  after: number;
  through: number;
  events: readonly LoggedEvent[];
  /** All events as the text of a stream: most streams select all. */
  text: () => Buffer;
}

/** One stream. */
export interface FollowingReader extends EventReader {
  /** Called after a round, at least every ten seconds, and when the follower ends. */
  wake(): void;
}

export interface FollowerServices {
  database: Database;
  wakes: Wakes;
  clock: Clock;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
}

export interface Followers {
  /** The follower of the account. `leave` must be called at the end. */
  join(accountId: string, reader: FollowingReader): Follower;
}

export function createFollowers(services: FollowerServices): Followers {
  const followers = new Map<string, Follower>();
  return {
    join(accountId, reader) {
      const known = followers.get(accountId);
      const follower = known === undefined || known.hasEnded ? new Follower(services, accountId) : known;
      followers.set(accountId, follower);
      follower.readers.add(reader);
      follower.start(() => {
        if (followers.get(accountId) === follower) followers.delete(accountId);
      });
      return follower;
    },
  };
}

export class Follower {
  readonly #services: FollowerServices;
  readonly #accountId: string;
  readonly readers = new Set<FollowingReader>();
  #rounds: Round[] = [];
  #reaches = new Map<string, EventReach | undefined>();
  #reachesReadAt = 0;
  #end = Number.POSITIVE_INFINITY;
  #leaving = new AbortController();
  #isStarted = false;
  hasEnded = false;

  constructor(services: FollowerServices, accountId: string) {
    this.#services = services;
    this.#accountId = accountId;
  }

  start(onEnd: () => void): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    // A failure ends the streams, and their clients connect again.
    this.#run()
      .catch(() => undefined)
      .finally(() => {
        this.hasEnded = true;
        onEnd();
        void this.#wakeReaders();
      });
  }

  leave(reader: FollowingReader): void {
    this.readers.delete(reader);
    if (this.readers.size > 0) return;
    this.hasEnded = true;
    this.#leaving.abort();
  }

  /** The round that has the event after the position, if it is kept. */
  findRound(position: number): Round | undefined {
    const first = this.#rounds[0];
    if (first === undefined || position < first.after) return undefined;
    return this.#rounds.find((round) => position < round.through);
  }

  /** Whether the follower will find the next event after the position. */
  isAtEnd(position: number): boolean {
    return position >= this.#end;
  }

  /** What the reader may read, as of the last round; `unread` if that did not ask. */
  findReach(reader: EventReader): EventReach | undefined | 'unread' {
    const key = buildKey(reader);
    return this.#reaches.has(key) ? this.#reaches.get(key) : 'unread';
  }

  async #run(): Promise<void> {
    const { database, wakes, stopping } = this.#services;
    const ending = AbortSignal.any([stopping, this.#leaving.signal]);
    this.#end = (await readLogBounds(database, this.#accountId)).last;
    while (!ending.aborted) {
      // Begun before the read, so that events committed during the read end the wait.
      const wait = createWait(wakes, getEventsKey(this.#accountId));
      try {
        const hasMore = await this.#readRound();
        await this.#wakeReaders();
        if (hasMore) continue;
        await wait.waitAtMost(waitMilliseconds, ending);
      } finally {
        wait.end();
      }
      if (ending.aborted) break;
      await delay(Math.max(shortestRestMilliseconds, this.readers.size * restMillisecondsOfReader));
    }
  }

  /** Returns whether there is more at once. */
  async #readRound(): Promise<boolean> {
    const { database } = this.#services;
    const after = this.#end;
    const { events, through, hasMore } = await readEventsAfter(database, {
      ...{ accountId: this.#accountId, after, limit: eventsOfRound, reach: { all: true } },
    });
    // Read after the events: no reader gets an event by a right that had ended before it.
    if (events.length > 0 || performance.now() - this.#reachesReadAt >= waitMilliseconds)
      await this.#readReaches();
    if (events.length > 0) {
      let text: Buffer | undefined;
      this.#rounds.push({
        ...{ after, through, events },
        text: () => {
          text ??= Buffer.from(renderEvents(events));
          return text;
        },
      });
      if (this.#rounds.length > keptRounds) this.#rounds.shift();
      this.#end = through;
    }
    return hasMore;
  }

  async #readReaches(): Promise<void> {
    const readers = new Map([...this.readers].map((reader) => [buildKey(reader), reader]));
    const { database, clock } = this.#services;
    const distinctReaders = [...readers.values()];
    const reaches = await readEventReaches(database.read, this.#accountId, distinctReaders, clock.now());
    this.#reaches = new Map([...readers.keys()].map((key, index) => [key, reaches[index]]));
    this.#reachesReadAt = performance.now();
  }

  /** A hundred readers that send at once would hold up the requests of this moment. */
  async #wakeReaders(): Promise<void> {
    let woken = 0;
    for (const reader of [...this.readers]) {
      reader.wake();
      woken += 1;
      if (woken % readersWokenAtOnce === 0) await yieldToRequests();
    }
  }
}

function buildKey({ principalId, userAccessId }: EventReader): string {
  return `${principalId} ${userAccessId ?? ''}`;
}
