/** When a request is sent again: which failures pass, and how long the server wants to be left alone. */
import { createBackoff } from '../backoff.ts';
import type { Time } from '../time.ts';
import { ExchangeError, type ReceivedResponse } from './exchange.ts';

/** Attempts of one request. */
export const attemptLimit = 5;
/** A server that asks for a longer pause gets no further request of this load. */
export const longestPauseMilliseconds = 15 * 60_000;

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];
const transientStatuses = [408, 425, 500, 502, 503, 504];

export type Verdict = 'use' | 'again' | { pause: number };

/** A response that asks to wait was not carried out, so that every method may be sent again. */
export function judgeResponse(method: string, response: ReceivedResponse, now: Date): Verdict {
  const pause = readPause(response, now);
  if (response.status === 429 || isExhausted(response)) return pause === undefined ? 'again' : { pause };
  if (!safeMethods.includes(method) || !transientStatuses.includes(response.status)) return 'use';
  return pause === undefined ? 'again' : { pause };
}

export function mayRepeat(method: string, error: unknown): boolean {
  if (!(error instanceof ExchangeError) || !error.isTransient) return false;
  return error.isUnsent || safeMethods.includes(method);
}

const passingRefusals = [408, 409, 423, 425, 429];

/** The request was understood and refused, and the answer asks for no pause: it would be refused again. */
export function isPermanentStatus(response: Pick<ReceivedResponse, 'status' | 'headers'>): boolean {
  const { status } = response;
  return status >= 400 && status < 500 && !passingRefusals.includes(status) && !isExhausted(response);
}

/** Some APIs answer 403 when a quota is used up, and say when there is a new one. */
function isExhausted({ status, headers }: Pick<ReceivedResponse, 'status' | 'headers'>): boolean {
  return status === 403 && (headers['retry-after'] !== undefined || headers['x-ratelimit-remaining'] === '0');
}

/** Milliseconds; undefined if the server does not say. RFC 9110, section 10.2.3. */
export function readPause({ headers }: ReceivedResponse, now: Date): number | undefined {
  const after = headers['retry-after'];
  if (after !== undefined) {
    if (/^\d{1,9}$/.test(after.trim())) return Number(after) * 1_000;
    const date = Date.parse(after);
    if (!Number.isNaN(date)) return Math.max(0, date - now.getTime());
  }
  const reset = headers['x-ratelimit-reset'];
  if (headers['x-ratelimit-remaining'] !== '0' || reset === undefined || !/^\d{1,12}$/.test(reset))
    return undefined;
  // A large number is a moment, a small one a time from now.
  const seconds = Number(reset);
  return seconds > 1_000_000_000 ? Math.max(0, seconds * 1_000 - now.getTime()) : seconds * 1_000;
}

export interface Pauses {
  /** Milliseconds before the next attempt. */
  next(verdict: Exclude<Verdict, 'use'>): number;
}

export function createPauses(random: Time['random']): Pauses {
  const backoff = createBackoff({ firstMilliseconds: 500, limitMilliseconds: 30_000, random });
  return { next: (verdict) => Math.max(verdict === 'again' ? 0 : verdict.pause, backoff.next()) };
}
