import type { Metrics } from '../../kernel/metrics.ts';
import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import {
  createWorkerJob,
  type ServerWorkKind,
  type WorkerServices,
} from '../../kernel/work/server-worker.ts';
import { type FromGitServices, fromGitRoutes } from './from-git.routes.ts';
import { type GitDeliveryServices, gitDeliveryRoutes } from './git-delivery.routes.ts';
import { createDeliveryWork, type RuleDeliveryServices } from './git-delivery.work.ts';
import { createReviewWork, type ReviewServices } from './git-review.work.ts';
import { type HookServices, hookRoutes } from './hook.routes.ts';
import { hookRemovalBatch, removeOldHooks } from './hook.store.ts';
import { removeOldReviews, reviewRemovalBatch } from './review.store.ts';

/** What delivers, and checks branches. */
interface WorkNeeds extends WorkerServices, RuleDeliveryServices, ReviewServices {
  config: RuleDeliveryServices['config'] & ReviewServices['config'];
}

interface Needs extends WorkNeeds, FromGitServices, HookServices, GitDeliveryServices {
  metrics: Metrics;
  config: WorkNeeds['config'] & FromGitServices['config'] & GitDeliveryServices['config'];
}

/** Rules and reviews at once. Those of a host that does not answer wait for minutes, so one account gets a part. */
const mostAtOnce = 64;
const mostOfAccount = 8;

export function createGitWork(services: WorkNeeds): ServerWorkKind[] {
  const places = createPlaces(mostAtOnce, mostOfAccount);
  return [createDeliveryWork(services, places), createReviewWork(services, places)];
}

export const gitDelivery: Slice<Needs> = {
  name: 'git-delivery',
  routes(endpoints, services) {
    fromGitRoutes(endpoints, services);
    gitDeliveryRoutes(endpoints, services);
    hookRoutes(endpoints, services);
  },
  periodic: (services) => [
    ...createGitWork(services).map((kind) => createWorkerJob(services, kind)),
    createRemovalJob(services, {
      kind: 'git-hook-deliveries',
      batch: hookRemovalBatch,
      remove: removeOldHooks,
    }),
    createRemovalJob(services, { kind: 'git-reviews', batch: reviewRemovalBatch, remove: removeOldReviews }),
  ],
};
