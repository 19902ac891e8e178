/** The events of an account: shapes.md Events, decisions.md §5 Audit events. */
import { type Static, Type } from 'typebox';
import { eventNames } from '../event.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, Name, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';

/** Beyond this many an account-wide log's `total` is this number: an estimate (decisions.md §2, paging). */
export const countedEventLimit = 10_000;

export const EventWord = named('EventName', oneOf(eventNames));

export const AccountEventItem = named(
  'AccountEvent',
  Type.Object({
    eventId: Uuid,
    eventName: EventWord,
    eventType: Type.String({ maxLength: 100, description: 'CREATE, UPDATE, DELETE or ACTION' }),
    eventDescription: Type.String({ maxLength: 1_000 }),
    eventSource: Type.String({
      maxLength: 100,
      description: 'What caused the event: credential, user, agent or system',
    }),
    eventTimestamp: DateTime,
    eventProjectId: Type.Optional(Uuid),
    eventEnvironmentName: Type.Optional(
      Type.String({
        maxLength: 255,
        description: 'The environment that the event is about. Absent for none, and for several',
      }),
    ),
    eventSubjectId: Type.Optional(Type.String({ maxLength: 1_024 })),
    eventSubjectName: Type.Optional(Type.String({ maxLength: 1_024 })),
    eventSubjectType: Type.Optional(Type.String({ maxLength: 100 })),
    actorId: Type.String({
      maxLength: 100,
      description: 'The id of the credential, user or agent. Empty if the service itself caused the event',
    }),
    actorName: Type.Optional(
      Type.String({
        maxLength: 1_024,
        description: 'The userName that the user had then. It stays after the user is deleted',
      }),
    ),
    actorEmail: Type.Optional(
      Type.String({ maxLength: 320, description: 'The userName, if it is an e-mail address' }),
    ),
    additionalInfo: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      maxProperties: 10,
      additionalProperties: true,
      description: '`before` and `after`, the state of the subject without secrets, and `requestId`',
    }),
  }),
);
export type AccountEventItem = Static<typeof AccountEventItem>;

export const listEvents = operation({
  id: 'listEvents',
  method: 'GET',
  path: '/v1/events',
  surface: 'dpc',
  tag: 'Events',
  summary: 'List events',
  description: `Newest first. \`from\` is inclusive and \`to\` is exclusive. \`total\` is exact up to ${countedEventLimit.toLocaleString('en')}; a larger number is reported as that limit.`,
  permission: 'events:read',
  query: Type.Object({
    from: DateTime,
    to: DateTime,
    ...pageQuery,
    eventName: Type.Optional(Type.Array(EventWord, { maxItems: eventNames.length })),
    projectId: Type.Optional(OpaqueId),
    environmentName: Type.Optional(Name),
    actorId: Type.Optional(OpaqueId),
    subjectId: Type.Optional(Name),
    subjectType: Type.Optional(Name),
  }),
  success: { status: 200, body: pageOf(AccountEventItem) },
  problems: ['empty-time-range'],
  events: [],
});

export const accountEventOperations = [listEvents] as const;
