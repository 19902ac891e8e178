/**
 * Follows the log of an account as server-sent events. A stream that is behind reads the log by itself; one at
 * its end shares the reads of the account's follower (event-followers.ts). It takes the next events only when
 * its client has taken the last ones, so a slow client holds little memory.
 */
import type { streamEvents } from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { StreamCall } from '../../kernel/endpoint/endpoint.ts';
import { Problem } from '../../kernel/http/problems.ts';
import { InactiveCaller } from '../../kernel/security/inactive-caller.ts';
import { findUserAccessId } from '../../kernel/security/permissions.ts';
import type { Follower, Followers, FollowingReader } from './event-followers.ts';
import { renderEnd, renderEvents, type StreamEnd } from './event-text.ts';
import { type GivenCursor, requireFollowing, resolveCursor } from './log/event-cursor.ts';
import { type EventFilter, readEventsAfter } from './log/event-log.ts';
import { type EventReach, type EventReader, readEventReaches } from './log/event-reach.ts';
import { createSelection, readFilter } from './log/event-selection.ts';

const chunkEvents = 200;
const heartbeatMilliseconds = 10_000;

type Call = StreamCall<typeof streamEvents>;

export interface StreamServices {
  database: Database;
  clock: Clock;
  stopping: AbortSignal;
  followers: Followers;
}

/**
 * Checks the request, and returns the text of the stream.
 *
 * @throws `invalid-request` for a cursor, `events-removed`, `token-invalid`
 */
export async function followEvents(
  call: Call,
  services: StreamServices,
): Promise<AsyncGenerator<string | Buffer>> {
  const { accountId } = call.scope;
  const cursor = pickCursor(call);
  const position = await resolveCursor(services.database, accountId, cursor);
  const stream = new EventStream(call, services, position);
  const reach = await stream.readReach();
  requireFollowing(cursor, position, await stream.readNext(reach, 1));
  return stream.render();
}

function pickCursor({ headers, query }: Call): GivenCursor {
  const last = headers['Last-Event-Id'];
  if (last !== undefined && last !== '') return { text: last, field: 'headers.Last-Event-ID' };
  return { text: query.after ?? 'latest', field: 'query.after' };
}

class EventStream {
  readonly #call: Call;
  readonly #services: StreamServices;
  readonly #filter: EventFilter;
  readonly #reader: EventReader;
  #position: number;
  /** What the caller could read when it connected, or since: the stream ends when it can read less. */
  #best: EventReach | undefined;

  constructor(call: Call, services: StreamServices, position: number) {
    this.#call = call;
    this.#services = services;
    this.#position = position;
    this.#filter = readFilter(call.query);
    const { actorId: principalId } = call.scope;
    this.#reader = { principalId, userAccessId: findUserAccessId(call.scope) };
  }

  /** Throws `token-invalid` and `forbidden` if the caller may read nothing, or less than before. */
  async readReach(): Promise<EventReach> {
    const { database, clock } = this.#services;
    const [reach] = await readEventReaches(
      database.read,
      this.#call.scope.accountId,
      [this.#reader],
      clock.now(),
    );
    return this.#keepReach(reach);
  }

  readNext(reach: EventReach, limit = chunkEvents) {
    const { accountId } = this.#call.scope;
    const read = { accountId, after: this.#position, limit, reach, filter: this.#filter };
    return readEventsAfter(this.#services.database, read);
  }

  async *render(): AsyncGenerator<string | Buffer> {
    const { closed, scope, query } = this.#call;
    const { seconds } = query;
    const until = seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1_000;
    const waiting = new ReaderWait(this.#reader, closed);
    const follower = this.#services.followers.join(scope.accountId, waiting);
    let saidAt = performance.now();
    try {
      yield 'retry: 2000\n\n';
      while (!closed.aborted) {
        const step = await this.#takeStep(follower).catch(describeFailure);
        if ('end' in step) return yield renderEnd(step.end);
        const now = performance.now();
        const isSilent = step.text.length === 0;
        if (!isSilent || now - saidAt >= heartbeatMilliseconds) {
          yield isSilent ? ': no news\n\n' : step.text;
          saidAt = now;
        }
        if (now >= until && (step.isAtEnd || seconds !== 0)) return yield renderEnd('time-over');
        if (step.isAtEnd) await waiting.waitAtMost(Math.min(heartbeatMilliseconds, until - now));
      }
    } finally {
      waiting.end();
      follower.leave(waiting);
    }
  }

  /** The next text; empty at the end of the log, or if nothing is selected. */
  async #takeStep(follower: Follower): Promise<Step> {
    if (this.#services.stopping.aborted) return { end: 'shutdown' };
    await this.#call.checkToken();
    if (follower.hasEnded) return { end: 'unavailable' };
    const shared = follower.findRound(this.#position);
    const known = follower.findReach(this.#reader);
    const reach = known === 'unread' ? await this.readReach() : this.#keepReach(known);
    if (shared !== undefined) {
      const selects = createSelection(this.#filter, reach);
      const isWhole = selects === undefined && shared.after === this.#position;
      const after = this.#position;
      this.#position = shared.through;
      if (isWhole) return { text: shared.text(), isAtEnd: false };
      const chosen = shared.events.filter((event) => event.position > after && (selects?.(event) ?? true));
      return { text: renderEvents(chosen), isAtEnd: false };
    }
    // The follower may not have the events of this moment yet, which a reader of what there is gets.
    if (this.#call.query.seconds !== 0 && follower.isAtEnd(this.#position))
      return { text: '', isAtEnd: true };
    const part = await this.readNext(reach);
    if (this.#position < part.removed) return { end: 'events-removed' };
    this.#position = part.through;
    return { text: renderEvents(part.events), isAtEnd: !part.hasMore && part.events.length === 0 };
  }

  #keepReach(reach: EventReach | undefined): EventReach {
    if (reach === undefined) throw new InactiveCaller(this.#call.scope);
    if (this.#best !== undefined && isLess(reach, this.#best)) throw new ReachEnded();
    this.#best = reach;
    return reach;
  }
}

type Step = { text: string | Buffer; isAtEnd: boolean } | { end: StreamEnd };

class ReachEnded extends Error {}

/** A single project that ends, such as by its deletion, ends no stream. */
function isLess(now: EventReach, before: EventReach): boolean {
  if ('all' in now) return false;
  return 'all' in before || (now.projects.length === 0 && before.projects.length > 0);
}

function describeFailure(failure: unknown): { end: StreamEnd } {
  if (failure instanceof ReachEnded) return { end: 'forbidden' };
  if (failure instanceof Problem && failure.status === 401) return { end: 'token-expired' };
  return { end: 'unavailable' };
}

/** The wait of one stream for its follower. A wake-up between two waits ends the next one. */
class ReaderWait implements FollowingReader {
  readonly principalId: string;
  readonly userAccessId: string | null | undefined;
  readonly #closed: AbortSignal;
  #isWoken = false;
  #resolve: (() => void) | undefined;

  constructor({ principalId, userAccessId }: EventReader, closed: AbortSignal) {
    this.principalId = principalId;
    this.userAccessId = userAccessId;
    this.#closed = closed;
    closed.addEventListener('abort', this.wake);
  }

  readonly wake = (): void => {
    this.#isWoken = true;
    this.#resolve?.();
  };

  async waitAtMost(milliseconds: number): Promise<void> {
    if (!this.#isWoken) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(resolve, milliseconds);
      await promise;
      clearTimeout(timer);
      this.#resolve = undefined;
    }
    this.#isWoken = false;
  }

  end(): void {
    this.#closed.removeEventListener('abort', this.wake);
  }
}
