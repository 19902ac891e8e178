/** Reading the table `event`. */
import { type AccountEventItem, countedEventLimit, type EventName } from '@headgate/contract';
import { type ColumnTypes, type ParameterTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import type { ActorKind } from '../../kernel/database/events.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Counted } from './event.total.ts';

const eventRow = {
  event_id: 'uuid',
  name: typed<EventName>('text'),
  occurred_at: 'timestamptz',
  actor_id: 'uuid?',
  actor_kind: typed<ActorKind>('text'),
  actor_name: 'text?',
  request_id: 'uuid?',
  project_id: 'uuid?',
  subject_type: 'text',
  subject_id: 'text',
  subject_name: 'text?',
  state_before: typed<object | null>('jsonb'),
  state_after: typed<object | null>('jsonb'),
} satisfies ColumnTypes;
type EventRow = RowOf<typeof eventRow>;

const byTime = 'account_id = $account_id and occurred_at >= $from and occurred_at < $to';
const filters = `${byTime}
  and ($names::text[] is null or name = any ($names)) and ($in_project_id::uuid is null or project_id = $in_project_id)
  and ($actor_id::uuid is null or actor_id = $actor_id) and ($subject_id::text is null or subject_id = $subject_id)
  and ($subject_type::text is null or subject_type = $subject_type)`;

const columns =
  'event_id, name, occurred_at, actor_id, actor_kind, actor_name, request_id, project_id, subject_type, subject_id, subject_name, state_before, state_after';
/**
 * Counts from the newest event back, so the earliest counted event shows where the range may begin and
 * still be full.
 */
const counted = (where: string) => `
  select json_build_object('counted', count(*), 'since', min(occurred_at)) as total
  from (select occurred_at from event where ${where} order by occurred_at desc, event_id desc limit ${countedEventLimit}) counted`;
const full = `select json_build_object('counted', ${countedEventLimit}, 'since', null) as total`;

const rowsByTime = `
  select ${columns} from event where ${byTime} order by occurred_at desc, event_id desc limit $limit offset $offset`;
const rowsByFilter = `
  select ${columns} from event where ${filters} order by occurred_at desc, event_id desc limit $limit offset $offset`;

const rangeTypes = {
  from: 'timestamptz',
  to: 'timestamptz',
  limit: 'bigint',
  offset: 'bigint',
} satisfies ParameterTypes;
/** Null where there is no filter. */
const filterTypes = {
  ...rangeTypes,
  names: 'text[]?',
  in_project_id: 'uuid?',
  actor_id: 'uuid?',
  subject_id: 'text?',
  subject_type: 'text?',
} satisfies ParameterTypes;

/** Without a filter, the total is counted in the index alone. */
export const eventPageByTime = {
  counted: guardedPage(
    {
      parameters: rangeTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
    },
    { rows: rowsByTime, total: counted(byTime) },
  ),
  full: guardedPage(
    {
      parameters: rangeTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
    },
    { rows: rowsByTime, total: full },
  ),
};

export const eventPage = {
  counted: guardedPage(
    {
      parameters: filterTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
      alone: true,
    },
    { rows: rowsByFilter, total: counted(filters) },
  ),
  full: guardedPage(
    {
      parameters: filterTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
      alone: true,
    },
    { rows: rowsByFilter, total: full },
  ),
};

export function presentEvent(row: EventRow): AccountEventItem {
  const item: AccountEventItem = {
    eventId: row.event_id,
    eventName: row.name,
    eventType: renderType(row.name),
    eventDescription: describeEvent(row),
    eventSource: row.actor_kind,
    eventTimestamp: row.occurred_at.toISOString(),
    eventSubjectId: row.subject_id,
    eventSubjectType: row.subject_type,
    actorId: row.actor_id ?? '',
    additionalInfo: {},
  };
  if (row.actor_name !== null) item.actorName = row.actor_name;
  if (row.actor_name?.includes('@')) item.actorEmail = row.actor_name.slice(0, 320);
  if (row.project_id !== null) item.eventProjectId = row.project_id;
  if (row.subject_name !== null) item.eventSubjectName = row.subject_name;
  if (row.state_before !== null) item.additionalInfo.before = row.state_before;
  if (row.state_after !== null) item.additionalInfo.after = row.state_after;
  if (row.request_id !== null) item.additionalInfo.requestId = row.request_id;
  return item;
}

function renderType(name: EventName): string {
  if (/-(updated|written|rotated|cancel-requested)$/.test(name)) return 'UPDATE';
  if (/-(created|requested)$/.test(name)) return 'CREATE';
  return name.endsWith('-deleted') ? 'DELETE' : 'ACTION';
}

/** `variable-created` of the variable `limit` → `Variable created: limit` */
function describeEvent({ name, subject_name, subject_id }: EventRow): string {
  const words = name.replaceAll('-', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}: ${subject_name ?? subject_id}`.slice(0, 1_000);
}
