/** The deliveries of a webhook. */
import { type Static, Type } from 'typebox';
import { EventWord } from '../account-event/account-event.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { webhookPath } from './webhook.ts';

/** Beyond this many, the total of a webhook's deliveries is this number. */
export const countedDeliveryLimit = 10_000;
const mostRedelivered = 1_000;

export const deliveryStatuses = ['pending', 'delivered', 'dead'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];
const DeliveryWord = named(
  'DeliveryStatus',
  oneOf(deliveryStatuses, {
    description: 'pending: is sent again at `nextAttemptAt`; dead: is not sent again, unless by `redeliver`',
  }),
);

export const WebhookDelivery = named(
  'WebhookDelivery',
  Type.Object({
    deliveryId: Uuid,
    eventId: Uuid,
    eventName: EventWord,
    attempts: Type.Integer({ minimum: 0 }),
    status: DeliveryWord,
    firstAttemptAt: DateTime,
    lastAttemptAt: Type.Optional(DateTime),
    lastStatus: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 999, description: 'The status of the last response' }),
    ),
    lastError: Type.Optional(Type.String({ maxLength: 1_000 })),
    nextAttemptAt: Type.Optional(DateTime),
  }),
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

const deliveryOperation = { surface: 'dpc', tag: 'Webhooks', permission: 'webhooks:manage' } as const;

export const listWebhookDeliveries = operation({
  ...deliveryOperation,
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: '/v1/webhooks/{webhookId}/deliveries',
  summary: 'List the deliveries of a webhook',
  description: `Newest first: what was sent, and what is being sent again. \`total\` is exact up to ${countedDeliveryLimit.toLocaleString('en')}; a larger number is reported as that limit.`,
  params: webhookPath,
  query: Type.Object({ ...pageQuery, status: Type.Optional(DeliveryWord) }),
  success: { status: 200, body: pageOf(WebhookDelivery) },
  problems: ['webhook-not-found'],
  events: [],
});

export const redeliverWebhook = operation({
  ...deliveryOperation,
  id: 'redeliverWebhook',
  method: 'POST',
  path: '/v1/webhooks/{webhookId}/redeliver',
  summary: 'Send deliveries again',
  description:
    'Sends these deliveries again, in their order, beside the events that wait. Without `deliveryIds`, all dead ones. ' +
    'Filters are not applied; an event that the owner may not read any more, or that retention removed, is dead again.',
  params: webhookPath,
  body: Type.Object({
    deliveryIds: Type.Optional(
      Type.Array(OpaqueId, { minItems: 1, maxItems: mostRedelivered, uniqueItems: true }),
    ),
  }),
  success: {
    status: 202,
    body: Type.Object({
      redelivered: Type.Integer({ minimum: 0, description: 'How many deliveries will be sent again' }),
    }),
  },
  problems: ['webhook-not-found', 'webhook-of-owner-with-more-rights', 'unknown-delivery'],
  events: ['webhook-redelivered'],
});

export const webhookDeliveryOperations = [listWebhookDeliveries, redeliverWebhook] as const;
