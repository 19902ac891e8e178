import { listWebhookDeliveries, redeliverWebhook } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { deliveryPage, deliveryPageOf, presentDelivery, repeatDeliveries } from './delivery.store.ts';
import { lockWebhook } from './webhook.store.ts';
import { buildWebhookEvent } from './webhook-event.ts';

export function deliveryRoutes({ read, write }: Endpoints): void {
  read(listWebhookDeliveries, async ({ params, query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const chosen = query.status === undefined ? deliveryPage : deliveryPageOf[query.status];
    const { rows, total } = await page(chosen, { webhook_id: toUuid(params.webhookId), limit, offset });
    if (total === null) throw problem('webhook-not-found', { id: params.webhookId });
    return { body: { page: query.page, results: rows.map(presentDelivery), size: limit, total } };
  });

  write(redeliverWebhook, async ({ tx, scope, params, body, now }) => {
    const webhook = await lockWebhook(tx, { scope, now }, params.webhookId);
    const deliveryIds = body.deliveryIds?.map(toUuid);
    const repeated = new Set(await repeatDeliveries(tx, scope, webhook.webhook_id, deliveryIds, now));
    const missing = body.deliveryIds?.find((id) => !repeated.has(id));
    if (missing !== undefined) throw problem('unknown-delivery', { id: missing });
    const after = { redelivered: repeated.size };
    return {
      body: { redelivered: repeated.size },
      events: [buildWebhookEvent('webhook-redelivered', webhook, { after })],
    };
  });
}
