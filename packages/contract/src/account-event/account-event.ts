/** The events of an account. */
import { type Static, Type } from 'typebox';
import { eventNames } from '../event.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  Name,
  OpaqueId,
  oneOf,
  pageOf,
  pageQuery,
  pageSizeLimit,
  tokenQuery,
  Uuid,
} from '../primitives.ts';

/** Beyond this many an account-wide log's `total` is this number: an estimate. */
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

const eventFilters = {
  eventName: Type.Optional(Type.Array(EventWord, { maxItems: eventNames.length })),
  projectId: Type.Optional(OpaqueId),
  environmentName: Type.Optional(Name),
  actorId: Type.Optional(OpaqueId),
  subjectId: Type.Optional(OpaqueId),
  subjectType: Type.Optional(Name),
};

/** Words in place of a cursor. */
export const logPlaces = ['oldest', 'latest'] as const;

const After = Type.String({
  minLength: 1,
  maxLength: 100,
  description:
    'A cursor: the events after it, in the order of their commits. `oldest` begins with the oldest event that is kept, `latest` with the next one',
});

const EventLogPart = named(
  'EventLogPart',
  Type.Object({
    results: Type.Array(AccountEventItem, { maxItems: pageSizeLimit }),
    cursor: Type.String({
      maxLength: 100,
      description:
        'Send it as `after` to get the next events. It is new even if no event matched the filters',
    }),
    hasMore: Type.Boolean({ description: 'There may be more events at once' }),
  }),
);
export type EventLogPart = Static<typeof EventLogPart>;

export const listEvents = operation({
  id: 'listEvents',
  method: 'GET',
  path: '/v1/events',
  surface: 'dpc',
  tag: 'Events',
  summary: 'List events',
  description:
    'Give either `from` and `to`, or `after`.\n\n' +
    `With \`from\` (inclusive) and \`to\` (exclusive): the events of that time, newest first, in pages. \`total\` is exact up to ${countedEventLimit.toLocaleString('en')}; a larger number is reported as that limit.\n\n` +
    'With `after`: the log in the order of the commits, at most `limit` events, and the `cursor` to continue with. A reader that follows the cursors gets each event once.',
  permission: 'events:read',
  query: Type.Object({
    from: Type.Optional(DateTime),
    to: Type.Optional(DateTime),
    ...pageQuery,
    after: Type.Optional(After),
    limit: tokenQuery.limit,
    ...eventFilters,
  }),
  success: { status: 200, body: Type.Union([pageOf(AccountEventItem), EventLogPart]) },
  problems: ['empty-time-range', 'events-removed'],
  events: [],
});

export const streamEvents = operation({
  id: 'streamEvents',
  method: 'GET',
  path: '/v1/events/stream',
  surface: 'dpc',
  tag: 'Events',
  summary: 'Follow events',
  description:
    'The log as server-sent events, in the order of the commits: `data` is the event as JSON, and `id` its cursor. ' +
    'Begins after `Last-Event-ID` or `after`, or else with the next event. ' +
    'A Super Admin gets all events; another caller those of the projects that it may read at that moment.\n\n' +
    'The last one is named `end`; its `data` has `reason`: `token-expired`, `forbidden` (the caller may read less than before), `events-removed`, `time-over`, `shutdown` or `unavailable`. ' +
    'After it, or a lost connection, connect again with `Last-Event-ID`: nothing is missed or repeated. ' +
    'A stream whose client reads nothing for a minute is closed.',
  permission: 'projects:list',
  query: Type.Object({
    after: Type.Optional(After),
    seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 86_400,
        description: 'End the stream after this time. 0: send what there is, then end',
      }),
    ),
    ...eventFilters,
  }),
  headers: Type.Object({
    'Last-Event-Id': Type.Optional(
      Type.String({
        maxLength: 100,
        pattern: '^[\\w-]*$',
        'x-form': 'the id of an event of the stream, such as MToxNw',
        description: 'The id of the last event that was received. It takes precedence over `after`',
      }),
    ),
  }),
  success: { status: 200, mediaType: 'text/event-stream' },
  problems: ['events-removed', 'too-many-streams'],
  events: [],
});

export const accountEventOperations = [listEvents, streamEvents] as const;
