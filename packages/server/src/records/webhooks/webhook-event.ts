import type { AccountEvent } from '../../kernel/database/events.ts';

export function buildWebhookEvent(
  name: AccountEvent['name'],
  row: { webhook_id: string; name: string },
  states: { before?: object; after?: object },
): AccountEvent {
  return { name, subject: { type: 'webhook', id: row.webhook_id, name: row.name }, ...states };
}
