/** The events that one webhook has to send: the next ones of the log, and those that are sent again. */
import type { EventName } from '@headgate/contract';
import { type BoundedRead, type ColumnTypes, statement, typed } from '../../kernel/database/database.ts';
import { readSmallerParts } from '../../kernel/database/smaller-parts.ts';
import { type EventReach, eventColumns, eventRow, type LoggedEvent } from '../events/index.ts';
import { isWanted } from './delivery-queue.store.ts';
import type { Claim } from './sending.store.ts';

/** Beside what the owner may read, its webhook gets the tests of itself. */
const isReadable = `
  ($projects::uuid[] is null or e.project_id = any ($projects)
    or e.name = 'webhook-tested' and e.state_after -> 'webhookIds' ? $webhook_id::uuid::text)`;
const ofEvent = eventColumns
  .split(', ')
  .map((column) => `e.${column}`)
  .join(', ');
const reachTypes = { account_id: 'uuid', webhook_id: 'uuid', projects: 'uuid[]?' } as const;
const getProjects = (reach: EventReach) => ('all' in reach ? null : reach.projects);

const scannedEvents = 1_000;
const logRow = { ...eventRow, position: 'bigint?' } satisfies ColumnTypes;
const selectNext = statement(
  {
    parameters: { ...reachTypes, after: 'bigint', limit: 'bigint' },
    row: { through: 'bigint?', scanned: 'bigint', ...logRow },
    alone: true,
  },
  `
  with scanned as (
    select e.position, ${ofEvent} from event e where e.account_id = $account_id and e.position > $after
    order by e.position limit ${scannedEvents}
  ), wanted as (
    select e.* from scanned e join webhook w on w.account_id = $account_id and w.webhook_id = $webhook_id
    where ${isWanted} and ${isReadable}
    order by e.position limit $limit
  )
  select (select max(position) from scanned) as through, (select count(*) from scanned) as scanned, e.position, ${ofEvent}
  from (select) one left join wanted e on true order by e.position`,
);

export interface NextEvents {
  events: LoggedEvent[];
  /** The webhook has no event to send up to here but these. */
  through: number;
  hasMore: boolean;
}

/** Of the events that are read at once: each may have several values of megabytes. */
const mostCharacters = 16 * 1_048_576;

/**
 * Reads the next events after a position that the webhook wants and its owner may read; fewer than `limit` if they are
 * very large.
 */
export function readNextEvents(
  read: BoundedRead,
  claim: Claim,
  expected: { after: number; reach: EventReach; limit: number },
): Promise<NextEvents> {
  return readSmallerParts(expected.limit, mostCharacters, (limit, most) =>
    readNextPart(read, claim, { ...expected, limit }, most),
  );
}

async function readNextPart(
  read: BoundedRead,
  { account_id, webhook_id }: Claim,
  { after, reach, limit }: { after: number; reach: EventReach; limit: number },
  most: number | undefined,
): Promise<NextEvents> {
  const rows = await read(
    selectNext,
    { account_id, webhook_id, projects: getProjects(reach), after, limit },
    most,
  );
  const events = rows.filter((row): row is (typeof rows)[number] & LoggedEvent => row.position !== null);
  const isFull = events.length === limit;
  const through = isFull ? events.at(-1)?.position : rows[0]?.through;
  return { events, through: through ?? after, hasMore: isFull || rows[0]?.scanned === scannedEvents };
}

const selectRepeated = statement(
  {
    parameters: { ...reachTypes, after: 'bigint', limit: 'bigint', now: 'timestamptz' },
    row: {
      delivery_id: 'uuid',
      delivery_position: 'bigint',
      delivery_name: typed<EventName>('text'),
      attempts: 'integer',
      ...eventRow,
      position: 'bigint?',
      event_id: 'uuid?',
    },
    alone: true,
  },
  `
  select d.delivery_id, d.position as delivery_position, d.event_name as delivery_name, d.attempts, e.position, ${ofEvent}
  from webhook_delivery d
  left join event e on e.account_id = d.account_id and e.position = d.position and ${isReadable}
  where d.account_id = $account_id and d.webhook_id = $webhook_id and d.status = 'pending' and d.position <= $after
    and d.next_attempt_at <= $now
  order by d.position limit $limit`,
);

export interface Redelivery {
  id: string;
  position: number;
  name: EventName;
  attempts: number;
  /** Undefined if retention removed it, or the owner may not read it. */
  event: LoggedEvent | undefined;
}

/** Reads the due redeliveries of a webhook, in their order; fewer than `limit` if their events are very large. */
export async function readRedeliveries(
  read: BoundedRead,
  { account_id, webhook_id }: Claim,
  expected: { position: number; reach: EventReach; limit: number; now: Date },
): Promise<Redelivery[]> {
  const { position: after, now } = expected;
  const projects = getProjects(expected.reach);
  const rows = await readSmallerParts(expected.limit, mostCharacters, (limit, most) =>
    read(selectRepeated, { account_id, webhook_id, projects, after, limit, now }, most),
  );
  return rows.map((row) => ({
    id: row.delivery_id,
    position: row.delivery_position,
    name: row.delivery_name,
    attempts: row.attempts,
    event: row.position === null ? undefined : (row as LoggedEvent),
  }));
}
