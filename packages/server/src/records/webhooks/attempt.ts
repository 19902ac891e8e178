/** One attempt to send an event to a receiver, and what became of it. */
import type { EventName, WebhookFormat } from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';
import type { OutgoingClient, OutgoingResult } from '../../kernel/security/outgoing-client.ts';
import type { Secret } from '../../kernel/security/sealed.ts';
import { type LoggedEvent, presentEvent } from '../events/index.ts';
import { renderBody } from './body.ts';
import { computeNextAttempt, readRetryAfter } from './retry-times.ts';
import type { AttemptResult } from './sending.store.ts';
import { signDelivery } from './signature.ts';

/** `gone`: the receiver wants no more events. `stopped`: this server stops before the result is known. */
export type AttemptEnd = 'delivered' | 'failed' | 'dead' | 'gone' | 'stopped';

export interface Receiver {
  url: string;
  format: WebhookFormat;
  secrets: readonly Secret[];
  client: OutgoingClient;
  clock: Clock;
  userAgent: string;
  lineageScheme: string;
  stopping: AbortSignal;
}

export interface Attempt {
  end: AttemptEnd;
  /** Undefined if it was stopped. */
  result: AttemptResult | undefined;
}

/** @param before the number of earlier attempts */
export async function attemptDelivery(
  { url, format, secrets, client, clock, userAgent, lineageScheme, stopping }: Receiver,
  event: LoggedEvent,
  before: number,
): Promise<Attempt> {
  const body = renderBody(format, presentEvent(event), lineageScheme);
  const headers = {
    'content-type': 'application/json',
    'user-agent': userAgent,
    ...signDelivery(secrets, { id: event.event_id, at: clock.now(), body }),
  };
  const answer = await client.post({ url, headers, body }, stopping);
  if (answer.kind === 'stopped') return { end: 'stopped', result: undefined };
  const now = clock.now();
  const attempts = before + 1;
  const last_status = answer.kind === 'answered' ? answer.status : null;
  const about = {
    position: event.position,
    delivery_id: event.event_id,
    event_name: event.name,
    attempts,
    last_status,
    last_attempt_at: now,
  };
  if (last_status !== null && last_status >= 200 && last_status < 300) {
    const result = { ...about, status: 'delivered', last_error: null, next_attempt_at: null } as const;
    return { end: 'delivered', result };
  }
  const last_error = answer.kind === 'failed' ? answer.reason : `The receiver answered ${last_status}.`;
  const isGone = last_status === 410;
  const next = isGone ? now : postpone(computeNextAttempt(attempts, now), findWantedTime(answer, now));
  if (next === undefined)
    return { end: 'dead', result: { ...about, status: 'dead', last_error, next_attempt_at: null } };
  const result = { ...about, status: 'pending', last_error, next_attempt_at: next } as const;
  return { end: isGone ? 'gone' : 'failed', result };
}

/** The time until which a busy receiver asks to be left alone. */
function findWantedTime(answer: OutgoingResult, now: Date): Date | undefined {
  if (answer.kind !== 'answered' || (answer.status !== 429 && answer.status !== 503)) return undefined;
  return readRetryAfter(answer.retryAfter, now);
}

/** The later of the two; undefined if the delivery is not sent again. */
function postpone(next: Date | undefined, requested: Date | undefined): Date | undefined {
  return next !== undefined && requested !== undefined && requested > next ? requested : next;
}

/** The result of a delivery that is given up without another attempt. */
export function buildDeadResult(
  delivery: { position: number; id: string; name: EventName; attempts: number },
  last_error: string,
  now: Date,
): AttemptResult {
  return {
    position: delivery.position,
    delivery_id: delivery.id,
    event_name: delivery.name,
    status: 'dead',
    attempts: delivery.attempts,
    last_status: null,
    last_error,
    last_attempt_at: now,
    next_attempt_at: null,
  };
}
