/**
 * Ranges of time that are known to hold more events than are counted. Counting ten thousand costs more than reading a page of them, and
 * whoever pages through the log, or looks again with a later end, asks for the same again: a range that contains a full one is full.
 */
import { countedEventLimit } from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';

/** Retention removes events: what was counted is believed for so long. */
const believedMilliseconds = 60_000;
const mostKnown = 1_000;

export interface Counted {
  counted: number;
  /** When the earliest counted one happened; null when there is none. */
  since: string | null;
}

export interface EventsAsked {
  accountId: string;
  filters: readonly (string | readonly string[] | null)[];
  from: Date;
  to: Date;
}

export interface FullRanges {
  contains(asked: EventsAsked): boolean;
  learn(asked: EventsAsked, found: Counted): void;
}

export function createFullRanges(clock: Clock): FullRanges {
  /** By account and filters, the one learnt last: it is the one that is asked for again. */
  const known = new Map<string, { since: number; to: number; until: number }>();
  const buildKey = ({ accountId, filters }: EventsAsked) => JSON.stringify([accountId, filters]);
  return {
    contains(asked) {
      const range = known.get(buildKey(asked));
      if (range === undefined || range.until < clock.now().getTime()) return false;
      return asked.from.getTime() <= range.since && asked.to.getTime() >= range.to;
    },
    learn(asked, { counted, since }) {
      if (counted < countedEventLimit || since === null) return;
      const key = buildKey(asked);
      known.delete(key);
      const until = clock.now().getTime() + believedMilliseconds;
      known.set(key, { since: Date.parse(since), to: asked.to.getTime(), until });
      const [oldest] = known.keys();
      if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
    },
  };
}
