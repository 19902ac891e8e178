import { listEvents, streamEvents } from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { invalidRequest, problem } from '../../kernel/http/problems.ts';
import { createFollowers } from './event-followers.ts';
import { followEvents } from './event-stream.ts';
import { eventPage, eventPageByTime, eventsPermitted } from './log/event.store.ts';
import { createFullRanges } from './log/event.total.ts';
import { type GivenCursor, renderCursor, requireFollowing, resolveCursor } from './log/event-cursor.ts';
import { readEventsAfter } from './log/event-log.ts';
import { presentEvent } from './log/event-row.ts';
import { readFilter } from './log/event-selection.ts';

type Call = ReadCall<typeof listEvents>;

export interface EventServices {
  clock: Clock;
  database: Database;
  wakes: Wakes;
  stopping: AbortSignal;
}

export function eventRoutes({ read, stream }: Endpoints, services: EventServices): void {
  const { database } = services;
  const listByTime = createListByTime(services.clock);

  read(listEvents, async (call) => {
    const { from, to, after } = call.query;
    if (after === undefined) return listByTime(call, requireRange(from, to));
    if (from !== undefined || to !== undefined)
      throw invalidRequest([
        { field: 'query.after', pointer: '/query/after', detail: 'cannot be combined with `from` and `to`' },
      ]);
    // Checks the caller's permission before the log is touched.
    await call.rows(eventsPermitted, {});
    return readLog(call, { text: after, field: 'query.after' });
  });

  async function readLog({ query, scope: { accountId } }: Call, input: GivenCursor) {
    const after = await resolveCursor(database, accountId, input);
    const { limit } = computePageBounds({ page: 0, size: query.limit });
    const filter = readFilter(query);
    const part = await readEventsAfter(database, { accountId, after, limit, reach: { all: true }, filter });
    requireFollowing(input, after, part);
    const { events, through, hasMore } = part;
    return { body: { results: events.map(presentEvent), cursor: renderCursor(through), hasMore } };
  }

  const followers = createFollowers(services);
  stream(streamEvents, (call) => followEvents(call, { ...services, followers }));
}

/** Without `after`, both are required. */
function requireRange(from: string | undefined, to: string | undefined): { from: Date; to: Date } {
  if (from !== undefined && to !== undefined) return { from: new Date(from), to: new Date(to) };
  const missing = from === undefined ? 'from' : 'to';
  const detail =
    'is required without `after`, for example 2026-11-21T09:30:00.000Z. To read the log in order, send after=oldest instead';
  throw invalidRequest([{ field: `query.${missing}`, pointer: `/query/${missing}`, detail }]);
}

function createListByTime(clock: Clock) {
  const fullRanges = createFullRanges(clock);
  return async ({ query, scope, page }: Call, { from, to }: { from: Date; to: Date }) => {
    if (from >= to) throw problem('empty-time-range');
    const { limit, offset } = computePageBounds(query);
    const filter = readFilter(query);
    const filters = {
      names: filter.names ?? null,
      in_project_id: filter.projectId ?? null,
      actor_id: filter.actorId ?? null,
      subject_id: filter.subjectId ?? null,
      subject_type: filter.subjectType ?? null,
      environment: filter.environmentName ?? null,
    };
    const values = Object.values(filters);
    const request = { accountId: scope.accountId, filters: values, from, to };
    const count = fullRanges.contains(request) ? 'full' : 'counted';
    const { rows, total } = values.every((each) => each === null)
      ? await page(eventPageByTime[count], { from, to, limit, offset })
      : await page(eventPage[count], { from, to, ...filters, limit, offset });
    fullRanges.learn(request, total);
    return { body: { page: query.page, results: rows.map(presentEvent), size: limit, total: total.counted } };
  };
}
