/**
 * The log of an account's events: each committed event has a position, and a reader that has read up to a
 * position has seen everything before it (docs/adr/0056). What waits for new events waits for the key
 * `getEventsKey` (kernel/database/event-news.ts).
 *
 * Terminology
 *   position   1, 2, 3 … in the order of the log
 */
import type { EventName } from '@headgate/contract';
import {
  type ColumnTypes,
  type Database,
  type ParameterTypes,
  type RowOf,
  statement,
} from '../../../kernel/database/database.ts';
import { readSmallerParts } from '../../../kernel/database/smaller-parts.ts';
import type { EventReach } from './event-reach.ts';
import { eventColumns, eventRow } from './event-row.ts';

/** The most events that one read gives positions, or looks at to find those that match a filter. */
export const scannedEvents = 2_000;

const logRow = { position: 'bigint', ...eventRow } satisfies ColumnTypes;
export type LoggedEvent = RowOf<typeof logRow>;

/** Absent members select all events. */
export interface EventFilter {
  names?: readonly EventName[] | undefined;
  projectId?: string | undefined;
  environmentName?: string | undefined;
  actorId?: string | undefined;
  subjectId?: string | undefined;
  subjectType?: string | undefined;
}

export interface LogRead {
  accountId: string;
  /** The position after which to read; 0 for the beginning. */
  after: number;
  limit: number;
  reach: EventReach;
  filter?: EventFilter | undefined;
}

export interface LogPart {
  /** In the order of the log. */
  events: LoggedEvent[];
  /** The position up to which the log was read: `after` of the next read. */
  through: number;
  /** There is more to read at once. */
  hasMore: boolean;
  /** The last position of the log. */
  last: number;
  /** Retention removed the event at this position, and none after it. A reader before it has missed events. */
  removed: number;
}

const numberEvents = statement(
  {
    parameters: { account_id: 'uuid', scanned: 'integer' },
    row: { last: 'bigint', removed: 'bigint', numbered: 'integer' },
    // It may wait for a lock.
    alone: true,
  },
  'select last, removed, numbered from sequence_events($account_id, $scanned)',
);

const readTypes = {
  account_id: 'uuid',
  scanned: 'integer',
  after: 'bigint',
  limit: 'bigint',
  projects: 'uuid[]?',
  names: 'text[]?',
  in_project_id: 'uuid?',
  environment: 'text?',
  actor_id: 'uuid?',
  subject_id: 'text?',
  subject_type: 'text?',
} satisfies ParameterTypes;

// One row without an event if none matches, so that the reader learns how far the log was read.
const selectAfter = statement(
  {
    parameters: readTypes,
    row: {
      through: 'bigint?',
      removed: 'bigint?',
      ...logRow,
      position: 'bigint?',
    },
    alone: true,
  },
  `
  with scanned as (
    select position, ${eventColumns} from event
    where account_id = $account_id and position > $after
    order by position
    limit $scanned::integer
  ), matched as (
    select position, ${eventColumns} from scanned
    where ($projects::uuid[] is null or project_id = any ($projects)) and ($names::text[] is null or name = any ($names))
      and ($in_project_id::uuid is null or project_id = $in_project_id)
      and ($environment::text is null or environment_name = $environment)
      and ($actor_id::uuid is null or actor_id = $actor_id) and ($subject_id::text is null or subject_id = $subject_id)
      and ($subject_type::text is null or subject_type = $subject_type)
    order by position
    limit $limit
  )
  select (select max(position) from scanned) as through,
    (select removed_position from event_position p where p.account_id = $account_id) as removed, matched.*
  from (select) one left join matched on true
  order by matched.position`,
);

/** Several of the largest events that one request can write, with what was there before. */
const mostCharactersOfPart = 128 * 1_048_576;

/**
 * Reads the next events that the reach and the filter select, fewer than `limit` if they are very large. It looks at
 * `scannedEvents` at most, so it may return none although there are more.
 */
export function readEventsAfter(database: Pick<Database, 'readBoth'>, read: LogRead): Promise<LogPart> {
  return readSmallerParts(read.limit, mostCharactersOfPart, (limit, most) =>
    readPart(database, { ...read, limit }, most),
  );
}

async function readPart(
  database: Pick<Database, 'readBoth'>,
  { accountId, after, limit, reach, filter = {} }: LogRead,
  mostCharacters?: number,
): Promise<LogPart> {
  // The second statement sees the positions that the first one gave.
  const parameters = {
    account_id: accountId,
    scanned: scannedEvents,
    after,
    limit,
    projects: 'all' in reach ? null : reach.projects,
    names: filter.names ?? null,
    in_project_id: filter.projectId ?? null,
    environment: filter.environmentName ?? null,
    actor_id: filter.actorId ?? null,
    subject_id: filter.subjectId ?? null,
    subject_type: filter.subjectType ?? null,
  };
  const [[log], rows] = await database.readBoth(numberEvents, selectAfter, parameters, mostCharacters);
  const events = rows.filter((row): row is (typeof rows)[number] & LoggedEvent => row.position !== null);
  const through = (events.length === limit ? events.at(-1)?.position : rows[0]?.through) ?? after;
  const last = Math.max(log?.last ?? 0, events.at(-1)?.position ?? rows[0]?.through ?? 0);
  // Without an event after `after`, retention has removed those up to `last`.
  const hasMore = (through > after && through < last) || log?.numbered === scannedEvents;
  return { events, through, hasMore, last, removed: rows[0]?.removed ?? 0 };
}

/** Gives positions to the next new events, `scannedEvents` at most. */
export async function numberNextEvents(
  database: Pick<Database, 'read'>,
  accountId: string,
): Promise<Pick<LogPart, 'last' | 'removed' | 'hasMore'>> {
  const [log] = await database.read(numberEvents, { account_id: accountId, scanned: scannedEvents });
  if (log === undefined) throw new Error('sequence_events() returned no row.');
  return { last: log.last, removed: log.removed, hasMore: log.numbered === scannedEvents };
}

/** Gives positions to all new events. Returns the last position, and that of the last removed event. */
export async function readLogBounds(
  database: Pick<Database, 'read'>,
  accountId: string,
): Promise<Pick<LogPart, 'last' | 'removed'>> {
  for (;;) {
    const { hasMore, ...bounds } = await numberNextEvents(database, accountId);
    if (!hasMore) return bounds;
  }
}
