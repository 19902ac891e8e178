/** Webhooks as the API shows them, and the rules of their addresses. */
import type { Webhook, WebhookFormat } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { type EgressGuard, EgressRefused } from '../../kernel/security/egress.ts';
import type { WebhookRow } from './webhook.store.ts';

/** Returns the address in the form that is stored. Throws `webhook-url-refused`. */
export async function requireAllowedUrl(egress: EgressGuard, text: string): Promise<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.username !== '' || url.password !== '')) {
    throw problem('webhook-url-refused', {
      reason:
        'It contains a user or a password, which would be stored in plain text. Check the signature of deliveries instead.',
    });
  }
  try {
    const checked = await egress.check(text);
    checked.url.hash = '';
    return checked.url.href;
  } catch (failure) {
    if (failure instanceof EgressRefused) throw problem('webhook-url-refused', { reason: failure.message });
    throw failure;
  }
}

const lineageEvents = ['lineage-recorded'] as const;

/** The events that a webhook of this format sends. Throws `webhook-events-of-format`. */
export function chooseEventNames(
  format: WebhookFormat,
  expected: Webhook['eventNames'],
): Webhook['eventNames'] {
  if (format !== 'openlineage') return expected;
  const other = expected.find((name) => name !== 'lineage-recorded');
  if (other !== undefined) throw problem('webhook-events-of-format', { eventName: other });
  return [...lineageEvents];
}

/** What an event shows of a webhook: of its address the origin only, because the rest may contain a token. */
export function describeWebhook(row: WebhookRow): object {
  const { name, url, eventNames, projectId, environmentName, format, state, pauseReason } =
    presentWebhook(row);
  return {
    name,
    url: new URL(url).origin,
    eventNames,
    projectId,
    environmentName,
    format,
    state,
    pauseReason,
  };
}

export function presentWebhook(row: WebhookRow, now?: Date): Webhook {
  const webhook: Webhook = {
    webhookId: row.webhook_id,
    name: row.name,
    url: row.url,
    eventNames: row.event_names,
    format: row.format,
    state: row.state,
    ownerId: row.owner_id,
    createdAt: row.created_at.toISOString(),
  };
  if (row.project_id !== null) webhook.projectId = row.project_id;
  if (row.environment_name !== null) webhook.environmentName = row.environment_name;
  if (row.pause_reason !== null) webhook.pauseReason = row.pause_reason;
  const fault = findFault(row);
  if (fault !== undefined) webhook.problem = fault;
  if (row.last_delivery_at !== null) webhook.lastDeliveryAt = row.last_delivery_at.toISOString();
  if (row.last_status !== null) webhook.lastStatus = row.last_status;
  if (row.failing_since !== null) webhook.failingSince = row.failing_since.toISOString();
  if (row.retry_at !== null && row.state === 'active') webhook.nextAttemptAt = row.retry_at.toISOString();
  if (row.missed_events > 0) webhook.missedEvents = row.missed_events;
  const until = row.previous_secret_until;
  if (until !== null && now !== undefined && until > now) webhook.previousSecretUntil = until.toISOString();
  return webhook;
}

function findFault(row: WebhookRow): string | undefined {
  if (!row.has_owner) {
    return 'Its owner no longer exists. Update the webhook to become its owner.';
  }
  if (!row.has_place) {
    const place =
      row.environment_name === null
        ? `The project ${row.project_id}`
        : `The environment ${JSON.stringify(row.environment_name)} of the project ${row.project_id}`;
    return `${place} no longer exists, so no more events match.`;
  }
  return undefined;
}
