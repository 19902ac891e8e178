/**
 * Sends for one webhook, while this server holds it.
 *
 * Terminology
 *   round      reads the webhook, the rights of its owner and some events, and sends these. A round is short, so
 *              that changes count soon
 *   lane       the log from the webhook's position on, or the redeliveries. A lane is sent in order; when a
 *              delivery fails, its lane waits
 *   progress   results that are written together
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { EgressGuard } from '../../kernel/security/egress.ts';
import { createOutgoingClient, type OutgoingClient } from '../../kernel/security/outgoing-client.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { recordSuccess } from '../../kernel/work/server-work.ts';
import { type EventReach, type LoggedEvent, readEventReaches, readLogBounds } from '../events/index.ts';
import { type AttemptEnd, attemptDelivery, buildDeadResult, type Receiver } from './attempt.ts';
import { readNextEvents, readRedeliveries } from './next-events.store.ts';
import { findPauseReason } from './retry-times.ts';
import {
  type AttemptResult,
  type Claim,
  pauseWebhook,
  postponeRedeliveries,
  readPlace,
  recordProgress,
  skipRemovedEvents,
  type WebhookPlace,
} from './sending.store.ts';
import { webhookSecretPurpose } from './signature.ts';

export interface SendingServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  sealer: Sealer;
  metrics: Metrics;
  egress: EgressGuard;
  version: string;
  stopping: AbortSignal;
  config: { webhookTimeoutSeconds: number; lineageScheme: string };
}

const eventsOfRound = 50;
const redeliveriesOfRound = 20;
const roundMilliseconds = 1_000;
/** Results of a fast receiver are written this often. */
const progressMilliseconds = 200;

/**
 * Sends what the webhook has to send now. Returns when there is nothing more, or the lease is lost.
 *
 * @param hasNews whether the account got events since it was asked last
 */
export async function sendForWebhook(
  services: SendingServices,
  claim: Claim,
  hasNews: () => boolean,
): Promise<void> {
  const client = createOutgoingClient({
    guard: services.egress,
    timeoutMilliseconds: services.config.webhookTimeoutSeconds * 1_000,
  });
  try {
    let end: LaneEnd = 'more';
    while (!services.stopping.aborted && (end === 'more' || (end === 'waits' && hasNews())))
      end = await runRound(services, claim, client);
  } finally {
    client.close();
  }
}

/** `waits`: there is nothing to send now. `ended`: the webhook is paused, the lease lost, or the server stops. */
type LaneEnd = 'more' | 'waits' | 'ended';

async function runRound(services: SendingServices, claim: Claim, client: OutgoingClient): Promise<LaneEnd> {
  const { database, clock, newId, sealer, stopping, version } = services;
  const now = clock.now();
  await readLogBounds(database, claim.account_id);
  const place = await readPlace(database.read, claim, now);
  if (place === undefined || place.state === 'paused') return 'ended';
  const readers = [{ principalId: place.owner_id }];
  const [reach] = await readEventReaches(database.read, claim.account_id, readers, now);
  if (reach === undefined) {
    const reason = `Its owner ${place.owner_id} was deleted or deactivated, or has expired. Resume the webhook to become its owner.`;
    await pauseWebhook({ database, newId, now }, claim, reason);
    return 'ended';
  }
  if (place.removed_position > place.position) {
    await skipRemovedEvents({ database, newId, now }, claim, place.removed_position);
    return 'more';
  }
  const sealed = [place.sealed_secret, place.sealed_previous_secret].filter((each) => each !== null);
  const secrets = sealed.map((each) => sealer.unseal(each, webhookSecretPurpose));
  const userAgent = `Headgate/${version}`;
  const { lineageScheme } = services.config;
  const { url, format } = place;
  const receiver = { url, format, secrets, client, clock, userAgent, lineageScheme, stopping };
  const round = new Round(services, claim, receiver, place, reach);
  const redelivered = await round.sendRedeliveries();
  if (redelivered === 'ended') return 'ended';
  const sent = await round.sendNext();
  if (sent !== 'waits') return sent;
  return redelivered === 'more' ? 'more' : 'waits';
}

class Round {
  readonly #services: SendingServices;
  readonly #claim: Claim;
  readonly #receiver: Receiver;
  readonly #place: WebhookPlace;
  readonly #reach: EventReach;
  readonly #until = performance.now() + roundMilliseconds;
  #results: AttemptResult[] = [];
  #recordedAt = performance.now();
  #position: number;
  #retryAt: Date | null;

  constructor(
    services: SendingServices,
    claim: Claim,
    receiver: Receiver,
    place: WebhookPlace,
    reach: EventReach,
  ) {
    this.#services = services;
    this.#claim = claim;
    this.#receiver = receiver;
    this.#place = place;
    this.#reach = reach;
    this.#position = place.position;
    this.#retryAt = place.retry_at;
  }

  async sendRedeliveries(): Promise<LaneEnd> {
    const { database, clock } = this.#services;
    const { redelivery_at: dueAt, position: after } = this.#place;
    const now = clock.now();
    if (dueAt === null || dueAt > now) return 'waits';
    const request = { position: after, reach: this.#reach, limit: redeliveriesOfRound, now };
    const found = await readRedeliveries(database.read, this.#claim, request);
    for (const redelivery of found) {
      const { event } = redelivery;
      if (event === undefined) {
        const error = 'Retention removed the event, or the owner of the webhook may not read it any more.';
        this.#results.push(buildDeadResult(redelivery, error, clock.now()));
        continue;
      }
      const end = await this.#send(event, redelivery.attempts);
      if (end === 'delivered' && !this.#isOver()) continue;
      const until = this.#results.at(-1)?.next_attempt_at;
      if (!(await this.#record()) || end === 'stopped') return 'ended';
      if (end === 'delivered') return 'more';
      if (until != null) await postponeRedeliveries(database.read, this.#claim, after, until);
      return (await this.#pauseIfNeeded(end)) ? 'ended' : 'waits';
    }
    if (found.length === 0) return 'waits';
    return (await this.#record()) ? 'more' : 'ended';
  }

  async sendNext(): Promise<LaneEnd> {
    const { database, clock } = this.#services;
    if (this.#retryAt !== null && this.#retryAt > clock.now()) return 'waits';
    const request = { after: this.#position, reach: this.#reach, limit: eventsOfRound };
    const next = await readNextEvents(database.read, this.#claim, request);
    this.#passHead(next.events[0]?.position ?? next.through + 1);
    for (const event of next.events) {
      if (this.#isOver()) return (await this.#record()) ? 'more' : 'ended';
      const isHead = event.position === this.#place.head_position;
      const end = await this.#send(event, isHead ? (this.#place.head_attempts ?? 0) : 0);
      if (end === 'stopped') {
        await this.#record();
        return 'ended';
      }
      this.#retryAt = this.#results.at(-1)?.next_attempt_at ?? null;
      // The events behind one that failed wait for it. A dead one makes way.
      if (this.#retryAt === null) this.#position = event.position;
      const isRecorded = end === 'delivered' && performance.now() - this.#recordedAt < progressMilliseconds;
      if (!isRecorded && !(await this.#record())) return 'ended';
      if (end === 'delivered') continue;
      if (await this.#pauseIfNeeded(end)) return 'ended';
      if (end === 'failed') return 'waits';
    }
    const isMoved = next.through > this.#place.position;
    this.#position = Math.max(this.#position, next.through);
    if (isMoved && !(await this.#record())) return 'ended';
    return next.hasMore ? 'more' : 'waits';
  }

  #isOver(): boolean {
    return performance.now() > this.#until;
  }

  /** Gives up a failed delivery whose event is not to be sent any more. */
  #passHead(nextPosition: number): void {
    const { head_position: position, head_id: id, head_name: name, head_attempts: attempts } = this.#place;
    if (position === null || id === null || name === null || attempts === null) return;
    if (position >= nextPosition) return;
    const error =
      'The filters of the webhook no longer match the event, or its owner may not read it any more.';
    const now = this.#services.clock.now();
    this.#results.push(buildDeadResult({ position, id, name, attempts }, error, now));
    this.#retryAt = null;
  }

  async #send(event: LoggedEvent, before: number): Promise<AttemptEnd> {
    const { end, result } = await attemptDelivery(this.#receiver, event, before);
    if (result === undefined) return end;
    this.#results.push(result);
    this.#services.metrics.countWebhookAttempt(end === 'gone' ? 'failed' : (end as 'delivered'));
    return end;
  }

  /** Writes the results so far. False: the webhook was paused or deleted meanwhile. @throws LeaseLost */
  async #record(): Promise<boolean> {
    const results = this.#results;
    this.#results = [];
    this.#recordedAt = performance.now();
    const { database } = this.#services;
    const held = await recordProgress(database, this.#claim, {
      results,
      position: this.#position,
      retryAt: this.#retryAt,
      knownRetryAt: this.#place.retry_at,
      now: this.#services.clock.now(),
    });
    if (this.#claim.interruptions > 0) await recordSuccess(database.read, this.#claim);
    this.#claim.interruptions = 0;
    if (held !== undefined) {
      this.#place.failing_since = held.failing_since;
      this.#place.retry_at = this.#retryAt = held.retry_at;
    }
    return held?.state === 'active';
  }

  /** Pauses the webhook after a failure, if it has failed for too long. Returns whether it did. */
  async #pauseIfNeeded(end: AttemptEnd): Promise<boolean> {
    const { database, newId, clock } = this.#services;
    const now = clock.now();
    const reason = findPauseReason(end === 'gone', this.#place.failing_since, now);
    if (reason !== undefined) await pauseWebhook({ database, newId, now }, this.#claim, reason);
    return reason !== undefined;
  }
}
