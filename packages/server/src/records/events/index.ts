import type { Clock } from '../../kernel/clock.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { eventRetention } from './event.retention.ts';
import { eventRoutes } from './event.routes.ts';

export const events: Slice<{ clock: Clock; config: { retention: { eventDays: number | undefined } } }> = {
  name: 'events',
  routes: eventRoutes,
  retention: ({ config }) => [eventRetention(config.retention.eventDays)],
};
