/** The table `event`, as it is read. */
import { type AccountEventItem, countedEventLimit, type EventName } from '@headgate/contract';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Counted } from './event.total.ts';

interface EventRow {
  event_id: string;
  name: EventName;
  occurred_at: Date;
  actor_id: string | null;
  actor_kind: 'credential' | 'agent' | 'system';
  request_id: string | null;
  project_id: string | null;
  subject_type: string;
  subject_id: string;
  subject_name: string | null;
  state_before: object | null;
  state_after: object | null;
}

const byTime = 'account_id = $1 and occurred_at >= $9 and occurred_at < $10';
const filters = `${byTime}
  and ($11::text[] is null or name = any ($11)) and ($12::uuid is null or project_id = $12)
  and ($13::uuid is null or actor_id = $13) and ($14::text is null or subject_id = $14)
  and ($15::text is null or subject_type = $15)`;

const columns =
  'event_id, name, occurred_at, actor_id, actor_kind, request_id, project_id, subject_type, subject_id, subject_name, state_before, state_after';
/**
 * A Counted. From the newest on, so that the earliest counted one tells where the range may begin and still
 * be full.
 */
const counted = (where: string) => `
  select json_build_object('counted', count(*), 'since', min(occurred_at)) as total
  from (select occurred_at from event where ${where} order by occurred_at desc, event_id desc limit ${countedEventLimit}) counted`;
const full = `select json_build_object('counted', ${countedEventLimit}, 'since', null) as total`;

const rowsByTime = `
  select ${columns} from event where ${byTime} order by occurred_at desc, event_id desc limit $11 offset $12`;
const rowsByFilter = `
  select ${columns} from event where ${filters} order by occurred_at desc, event_id desc limit $16 offset $17`;

/**
 * Parameters: from, to, limit, offset. The total is counted in the key alone: without a filter no row is
 * looked into.
 */
export const eventPageByTime = {
  counted: guardedPage<EventRow, Counted>({ rows: rowsByTime, total: counted(byTime) }),
  full: guardedPage<EventRow, Counted>({ rows: rowsByTime, total: full }),
};

/**
 * Parameters: from, to, names, project, actor, subject's id, subject's type (each or null), limit, offset.
 */
export const eventPage = {
  counted: guardedPage<EventRow, Counted>({ rows: rowsByFilter, total: counted(filters), alone: true }),
  full: guardedPage<EventRow, Counted>({ rows: rowsByFilter, total: full, alone: true }),
};

export function presentEvent(row: EventRow): AccountEventItem {
  const item: AccountEventItem = {
    eventId: row.event_id,
    eventName: row.name,
    eventType: typeOf(row.name),
    eventDescription: describe(row),
    eventSource: row.actor_kind,
    eventTimestamp: row.occurred_at.toISOString(),
    eventSubjectId: row.subject_id,
    eventSubjectType: row.subject_type,
    actorId: row.actor_id ?? '',
    additionalInfo: {},
  };
  if (row.project_id !== null) item.eventProjectId = row.project_id;
  if (row.subject_name !== null) item.eventSubjectName = row.subject_name;
  if (row.state_before !== null) item.additionalInfo.before = row.state_before;
  if (row.state_after !== null) item.additionalInfo.after = row.state_after;
  if (row.request_id !== null) item.additionalInfo.requestId = row.request_id;
  return item;
}

function typeOf(name: EventName): string {
  if (/-(updated|written|rotated|cancel-requested)$/.test(name)) return 'UPDATE';
  if (/-(created|requested)$/.test(name)) return 'CREATE';
  return name.endsWith('-deleted') ? 'DELETE' : 'ACTION';
}

/** `variable-created` of the variable `limit` → `Variable created: limit` */
function describe({ name, subject_name, subject_id }: EventRow): string {
  const words = name.replaceAll('-', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}: ${subject_name ?? subject_id}`.slice(0, 1_000);
}
