import type { Slice } from '../../kernel/slice/slice.ts';
import type { TickServices } from '../schedules/index.ts';
import { createBackfillRetention } from './backfill.retention.ts';
import { type BackfillServices, backfillRoutes } from './backfill.routes.ts';
import { createBackfillJob } from './backfill-rounds.ts';

export const backfills: Slice<
  TickServices & BackfillServices & { config: { retention: { executionDays: number | undefined } } }
> = {
  name: 'backfills',
  routes: backfillRoutes,
  periodic: (services) => [createBackfillJob(services)],
  retention: ({ config }) => createBackfillRetention(config.retention),
};
