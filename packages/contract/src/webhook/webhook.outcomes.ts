/** Problems and events of webhooks. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const webhookOutcomes = {
  events: [
    'webhook-created',
    'webhook-updated',
    'webhook-deleted',
    'webhook-rotated',
    'webhook-tested',
    'webhook-redelivered',
    'webhook-paused',
    'webhook-events-missed',
  ],
  problems: {
    'webhook-not-found': kind<{ id: string }>(
      404,
      'The account has no such webhook.',
      ({ id }) => `There is no webhook ${id}.`,
    ),
    'webhook-of-owner-with-more-rights': kind<{ name: string }>(
      403,
      'The owner of the webhook may read more than the caller, so only the owner and Super Admins can change it.',
      ({ name }) =>
        `The owner of the webhook ${quoted(name)} may read more than you, and its deliveries have what the owner may read. Only the owner and Super Admins can change, rotate, test, redeliver or delete it. Create a webhook of your own instead.`,
    ),
    'webhook-url-refused': kind<{ reason: string }>(
      422,
      'The server does not send webhooks to this address.',
      ({ reason }) => `body.url cannot be used: ${reason}`,
    ),
    'too-many-webhooks': kind<{ limit: number }>(
      409,
      'The account has as many webhooks as it may have. Delete one.',
      ({ limit }) =>
        `The account has ${limit} webhooks, the most that an account may have; delete one first.`,
    ),
    'webhook-is-paused': kind(
      409,
      'The webhook is paused, so it sends nothing. Resume it by PATCH with `state: "active"`.',
      () => 'The webhook is paused; resume it by PATCH with {"state": "active"} first.',
    ),
    'unknown-delivery': kind<{ id: string }>(
      422,
      'The body names a delivery that the webhook does not have, or that is being sent already.',
      ({ id }) => `The webhook has no delivery ${id} that can be sent again.`,
    ),
  },
} as const satisfies Outcomes;
