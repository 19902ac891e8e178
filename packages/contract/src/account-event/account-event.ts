/** The events of an account: shapes.md Events, decisions.md §5 Audit events. */
import { type Static, Type } from 'typebox';
import { eventNames } from '../event.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';

/** Beyond this many an account-wide log's `total` is this number: an estimate (decisions.md §2, paging). */
export const countedEventLimit = 10_000;

export const AccountEventItem = Type.Object({
  eventId: Uuid,
  eventName: oneOf(eventNames),
  eventType: Type.String({ maxLength: 100, description: 'CREATE, UPDATE, DELETE or ACTION' }),
  eventDescription: Type.String({ maxLength: 1_000 }),
  eventSource: Type.String({ maxLength: 100, description: 'Who acted: credential, agent or system' }),
  eventTimestamp: DateTime,
  eventProjectId: Type.Optional(Uuid),
  eventSubjectId: Type.Optional(Type.String({ maxLength: 1_024 })),
  eventSubjectName: Type.Optional(Type.String({ maxLength: 1_024 })),
  eventSubjectType: Type.Optional(Type.String({ maxLength: 100 })),
  actorId: Type.String({ maxLength: 100, description: 'Empty for what the service did by itself' }),
  actorEmail: Type.Optional(Type.String({ maxLength: 320 })),
  additionalInfo: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    maxProperties: 10,
    additionalProperties: true,
    description: '`before` and `after`: the state of the subject, without secrets; `requestId`',
  }),
});
export type AccountEventItem = Static<typeof AccountEventItem>;

export const listEvents = operation({
  id: 'listEvents',
  method: 'GET',
  path: '/v1/events',
  surface: 'dpc',
  tag: 'Events',
  summary: 'List the events of the account, newest first',
  description: `From \`from\` inclusive to \`to\` exclusive. \`total\` is exact up to ${countedEventLimit}, and stays at that beyond.`,
  permission: 'events:read',
  query: Type.Object({
    from: DateTime,
    to: DateTime,
    ...pageQuery,
    eventName: Type.Optional(Type.Array(oneOf(eventNames), { maxItems: eventNames.length })),
    projectId: Type.Optional(OpaqueId),
    actorId: Type.Optional(OpaqueId),
    subjectId: Type.Optional(Name),
    subjectType: Type.Optional(Name),
  }),
  success: { status: 200, body: pageOf(AccountEventItem) },
  problems: ['empty-time-range'],
  events: [],
});

export const accountEventOperations = [listEvents] as const;
