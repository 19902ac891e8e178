/**
 * When a delivery that failed is sent again. The times are counted by attempts, not by the age of the
 * delivery, so that a clock that is moved ends none early.
 */
import { addSeconds } from '../../kernel/clock.ts';

const hour = 3_600;
/** The pauses after the first, second, … attempt: 23 h 42 min in all. */
const pauses = [5, 30, 120, 600, 1_800, hour, ...Array<number>(11).fill(2 * hour)];
/** A delivery whose last one fails is dead. */
export const mostAttempts = pauses.length + 1;
/** Each pause is longer by a random part of it, so that receivers do not get all retries at once. */
const jitter = 0.1;

/** Undefined: the delivery is dead. */
export function computeNextAttempt(attempts: number, now: Date, random = Math.random): Date | undefined {
  const pause = pauses[attempts - 1];
  return pause === undefined ? undefined : addSeconds(now, pause * (1 + jitter * random()));
}

const longestRetryAfterSeconds = 86_400;

/** The time in a header Retry-After: seconds or an HTTP-date (RFC 9110 §10.2.3), at most 24 hours from now. */
export function readRetryAfter(header: string | undefined, now: Date): Date | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text)
    ? Number(text)
    : / GMT$/.test(text)
      ? (Date.parse(text) - now.getTime()) / 1_000
      : Number.NaN;
  return seconds > 0 ? addSeconds(now, Math.min(seconds, longestRetryAfterSeconds)) : undefined;
}

/** A webhook without a success for this long is paused. */
const pausedAfterSeconds = 3 * 86_400;

/** Undefined: the webhook goes on. */
export function findPauseReason(isGone: boolean, failingSince: Date | null, now: Date): string | undefined {
  if (isGone) return 'The receiver answered 410: it wants no more deliveries.';
  if (failingSince === null || now < addSeconds(failingSince, pausedAfterSeconds)) return undefined;
  return `No delivery has succeeded since ${failingSince.toISOString()}.`;
}
