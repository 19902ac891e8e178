/**
 * Time ranges known to reach the counting limit. Counting 10,000 events costs more than reading a page, and
 * paging clients ask for the same range again. A range that contains a full range is full.
 */
import { countedEventLimit } from '@headgate/contract';
import type { Clock } from '../../../kernel/clock.ts';

/** Retention removes events, so a full range is remembered only this long. */
const believedMilliseconds = 60_000;
const mostKnown = 1_000;

export interface Counted {
  counted: number;
  /** Time of the earliest counted event; null if there is none. */
  since: string | null;
}

export interface EventsAsked {
  accountId: string;
  filters: readonly (string | readonly string[] | null)[];
  from: Date;
  to: Date;
}

export interface FullRanges {
  contains(request: EventsAsked): boolean;
  learn(request: EventsAsked, found: Counted): void;
}

export function createFullRanges(clock: Clock): FullRanges {
  /** The latest full range by account and filters: it is the likeliest to be requested again. */
  const known = new Map<string, { since: number; to: number; until: number }>();
  const buildKey = ({ accountId, filters }: EventsAsked) => JSON.stringify([accountId, filters]);
  return {
    contains(request) {
      const range = known.get(buildKey(request));
      if (range === undefined || range.until < clock.now().getTime()) return false;
      return request.from.getTime() <= range.since && request.to.getTime() >= range.to;
    },
    learn(request, { counted, since }) {
      if (counted < countedEventLimit || since === null) return;
      const key = buildKey(request);
      known.delete(key);
      const until = clock.now().getTime() + believedMilliseconds;
      known.set(key, { since: Date.parse(since), to: request.to.getTime(), until });
      const [oldest] = known.keys();
      if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
    },
  };
}
