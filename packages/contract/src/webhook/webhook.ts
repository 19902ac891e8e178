/** Webhooks of the account. */
import { type Static, Type } from 'typebox';
import { EventWord } from '../account-event/account-event.ts';
import { eventNames } from '../event.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  Name,
  OpaqueId,
  oneOf,
  ProjectId,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';

export const webhooksPerAccount = 100;
const longestOverlapSeconds = 7 * 86_400;

const WebhookUrl = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'An https address that is reachable from the server',
});
const EventNames = Type.Array(EventWord, {
  maxItems: eventNames.length,
  uniqueItems: true,
  description:
    'Empty: all events but `lineage-recorded`, which the account has only while a webhook has the format openlineage',
});
const WebhookState = named(
  'WebhookState',
  oneOf(['active', 'paused'], { description: 'A paused webhook sends nothing and keeps its place' }),
);
const WebhookFormat = named(
  'WebhookFormat',
  oneOf(['json', 'slack', 'teams', 'openlineage'], {
    description:
      'The format of the bodies. json: the event. slack: a message for an incoming webhook of Slack. ' +
      'teams: a card for a workflow of Microsoft Teams that starts with a webhook request. ' +
      'openlineage: lineage events for a receiver of OpenLineage, such as Marquez; `eventNames` is then `["lineage-recorded"]`',
  }),
);
export type WebhookFormat = Static<typeof WebhookFormat>;

export const Webhook = named(
  'Webhook',
  Type.Object({
    webhookId: Uuid,
    name: Name,
    url: WebhookUrl,
    eventNames: EventNames,
    projectId: Type.Optional(ProjectId),
    environmentName: Type.Optional(EnvironmentName),
    format: WebhookFormat,
    state: WebhookState,
    pauseReason: Type.Optional(Type.String({ maxLength: 1_000, description: 'Why it is paused' })),
    problem: Type.Optional(
      Type.String({ maxLength: 1_000, description: 'Why it may not send what is expected of it' }),
    ),
    ownerId: Type.String({
      ...Uuid,
      description:
        'The credential or user that wrote the webhook last. The webhook sends only what its owner may read',
    }),
    createdAt: DateTime,
    lastDeliveryAt: Type.Optional(Type.String({ ...DateTime, description: 'The last attempt' })),
    lastStatus: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 999, description: 'The status of the last response' }),
    ),
    failingSince: Type.Optional(
      Type.String({ ...DateTime, description: 'The first failure since the last success' }),
    ),
    nextAttemptAt: Type.Optional(
      Type.String({ ...DateTime, description: 'When the event that failed is sent again' }),
    ),
    missedEvents: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Events that retention removed before they were sent, with those that do not match',
      }),
    ),
    previousSecretUntil: Type.Optional(
      Type.String({ ...DateTime, description: 'Until then, deliveries are signed with both secrets' }),
    ),
  }),
);
export type Webhook = Static<typeof Webhook>;

const WebhookSecret = named(
  'WebhookSecret',
  Type.Object({
    webhookId: Uuid,
    secret: Type.String({
      maxLength: 255,
      description: '`whsec_` and the key in base64. Shown only in this response',
    }),
  }),
);

const webhookOperation = { surface: 'dpc', tag: 'Webhooks', permission: 'webhooks:manage' } as const;
const path = '/v1/webhooks';
const onePath = `${path}/{webhookId}` as const;
export const webhookPath = Type.Object({ webhookId: OpaqueId });

export const listWebhooks = operation({
  ...webhookOperation,
  id: 'listWebhooks',
  method: 'GET',
  path,
  summary: 'List webhooks',
  description: 'Newest first.',
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Webhook) },
  problems: [],
  events: [],
});

export const createWebhook = operation({
  ...webhookOperation,
  id: 'createWebhook',
  method: 'POST',
  path,
  summary: 'Create a webhook',
  description:
    'Sends the events that are recorded from now on to `url`. Without filters it sends all events that the caller may read. ' +
    'An event must match all filters. The secret signs the deliveries; store it at once.',
  body: Type.Object({
    name: Name,
    url: WebhookUrl,
    eventNames: Type.Optional(EventNames),
    projectId: Type.Optional(ProjectId),
    environmentName: Type.Optional(EnvironmentName),
    format: Type.Optional(WebhookFormat),
  }),
  success: { status: 201, body: WebhookSecret, headers: ['Location', 'ETag'] },
  answerHoldsSecret: true,
  problems: [
    'webhook-url-refused',
    'unknown-project',
    'unknown-environment',
    'too-many-webhooks',
    'webhook-events-of-format',
  ],
  events: ['webhook-created'],
});

export const getWebhook = operation({
  ...webhookOperation,
  id: 'getWebhook',
  method: 'GET',
  path: onePath,
  summary: 'Get a webhook',
  params: webhookPath,
  success: { status: 200, body: Webhook, headers: ['ETag'] },
  problems: ['webhook-not-found'],
  events: [],
});

export const updateWebhook = operation({
  ...webhookOperation,
  id: 'updateWebhook',
  method: 'PATCH',
  path: onePath,
  summary: 'Update a webhook',
  description:
    'Omitted members keep their value; null removes `projectId` and `environmentName`. The caller becomes the owner. Only the owner, Super Admins, and callers who may read all that the owner may read can change a webhook. ' +
    '`state: "active"` resumes a paused webhook where it stopped, and sends an event that failed again at once.',
  params: webhookPath,
  headers: ifMatchHeader,
  body: Type.Object({
    name: Type.Optional(Name),
    url: Type.Optional(WebhookUrl),
    eventNames: Type.Optional(EventNames),
    projectId: Type.Optional(Type.Union([ProjectId, Type.Null()])),
    environmentName: Type.Optional(Type.Union([EnvironmentName, Type.Null()])),
    format: Type.Optional(WebhookFormat),
    state: Type.Optional(WebhookState),
  }),
  success: { status: 200, body: Webhook, headers: ['ETag'] },
  problems: [
    'webhook-not-found',
    'webhook-of-owner-with-more-rights',
    'etag-mismatch',
    'webhook-url-refused',
    'unknown-project',
    'unknown-environment',
    'webhook-events-of-format',
  ],
  events: ['webhook-updated'],
});

export const deleteWebhook = operation({
  ...webhookOperation,
  id: 'deleteWebhook',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a webhook',
  description: 'Nothing more is sent. A request that is being sent is not stopped.',
  params: webhookPath,
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['webhook-not-found', 'webhook-of-owner-with-more-rights', 'etag-mismatch'],
  events: ['webhook-deleted'],
});

export const rotateWebhook = operation({
  ...webhookOperation,
  id: 'rotateWebhook',
  method: 'POST',
  path: `${onePath}/rotate`,
  summary: 'Rotate the secret of a webhook',
  description:
    'Creates a new secret. For another `overlapSeconds` seconds, 86400 by default, each delivery is signed with both secrets.',
  params: webhookPath,
  body: Type.Object({
    overlapSeconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: longestOverlapSeconds, default: 86_400 }),
    ),
  }),
  success: { status: 200, body: WebhookSecret },
  answerHoldsSecret: true,
  problems: ['webhook-not-found', 'webhook-of-owner-with-more-rights'],
  events: ['webhook-rotated'],
});

export const testWebhook = operation({
  ...webhookOperation,
  id: 'testWebhook',
  method: 'POST',
  path: `${onePath}/test`,
  summary: 'Send a test event to a webhook',
  description:
    'Records the event `webhook-tested`, which is sent to this webhook whatever its filters are, after the events that wait. ' +
    'An event that failed is sent again at once. Its delivery is listed like any other.',
  params: webhookPath,
  success: { status: 202, body: Type.Object({ webhookId: Uuid }) },
  problems: ['webhook-not-found', 'webhook-of-owner-with-more-rights', 'webhook-is-paused'],
  events: ['webhook-tested'],
});

export const webhookOperations = [
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
] as const;
