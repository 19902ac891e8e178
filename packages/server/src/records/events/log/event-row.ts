/** Reading rows of the table `event`, and how the API shows one. */
import type { AccountEventItem, EventName } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../../kernel/database/database.ts';
import type { ActorKind } from '../../../kernel/database/events.ts';

export const eventRow = {
  event_id: 'uuid',
  name: typed<EventName>('text'),
  occurred_at: 'timestamptz',
  actor_id: 'uuid?',
  actor_kind: typed<ActorKind>('text'),
  actor_name: 'text?',
  request_id: 'uuid?',
  project_id: 'uuid?',
  environment_name: 'text?',
  subject_type: 'text',
  subject_id: 'text',
  subject_name: 'text?',
  state_before: typed<object | null>('jsonb'),
  state_after: typed<object | null>('jsonb'),
} satisfies ColumnTypes;
export type EventRow = RowOf<typeof eventRow>;

export const eventColumns = Object.keys(eventRow).join(', ');

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
  if (row.environment_name !== null) item.eventEnvironmentName = row.environment_name;
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
