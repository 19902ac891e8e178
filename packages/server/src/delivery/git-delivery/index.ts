import type { Metrics } from '../../kernel/metrics.ts';
import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createDeliveryJob, type DeliveryJobServices } from './delivery-job.ts';
import { type FromGitServices, fromGitRoutes } from './from-git.routes.ts';
import { type GitDeliveryServices, gitDeliveryRoutes } from './git-delivery.routes.ts';
import { type HookServices, hookRoutes } from './hook.routes.ts';
import { hookRemovalBatch, removeOldHooks } from './hook.store.ts';
import { removeOldReviews, reviewRemovalBatch } from './review.store.ts';

interface Needs extends DeliveryJobServices, FromGitServices, HookServices, GitDeliveryServices {
  metrics: Metrics;
  config: DeliveryJobServices['config'] & FromGitServices['config'] & GitDeliveryServices['config'];
}

export const gitDelivery: Slice<Needs> = {
  name: 'git-delivery',
  routes(endpoints, services) {
    fromGitRoutes(endpoints, services);
    gitDeliveryRoutes(endpoints, services);
    hookRoutes(endpoints, services);
  },
  periodic: (services) => [
    createDeliveryJob(services),
    createRemovalJob(services, {
      kind: 'git-hook-deliveries',
      batch: hookRemovalBatch,
      remove: removeOldHooks,
    }),
    createRemovalJob(services, { kind: 'git-reviews', batch: reviewRemovalBatch, remove: removeOldReviews }),
  ],
};
