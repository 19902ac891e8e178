import type { Database } from '../../kernel/database/database.ts';
import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { deliveryRoutes } from './delivery.routes.ts';
import { removalBatch, removeOldDeliveries } from './delivery.store.ts';
import { type WebhookRouteServices, webhookRoutes } from './webhook.routes.ts';
import { createDeliveryQueue, type DeliveryQueueServices } from './webhook.work.ts';

export { computeNextAttempt, mostAttempts } from './retry-times.ts';

interface Needs extends DeliveryQueueServices, WebhookRouteServices {
  database: Database;
  config: DeliveryQueueServices['config'] & {
    retention: Record<'deliveryDays' | 'deadDeliveryDays', number | undefined>;
  };
}

export const webhooks: Slice<Needs> = {
  name: 'webhooks',
  routes(endpoints, services) {
    webhookRoutes(endpoints, services);
    deliveryRoutes(endpoints);
  },
  periodic(services) {
    const queue = createDeliveryQueue(services);
    return [
      {
        name: 'webhooks',
        everyMilliseconds: 1_000,
        firstAfterMilliseconds: 0,
        // One round lasts until the server stops, or the database fails.
        async run() {
          await queue.run();
          return false;
        },
      },
      createRemovalJob(services, {
        kind: 'webhook-deliveries',
        batch: removalBatch,
        remove: (read, now) => removeOldDeliveries(read, now, services.config.retention),
      }),
    ];
  },
};
