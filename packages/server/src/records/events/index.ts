import type { Slice } from '../../kernel/slice/slice.ts';
import { eventRetention } from './event.retention.ts';
import { type EventServices, eventRoutes } from './event.routes.ts';
import { eventNumberingJob } from './log/event-numbering.ts';

export { type LoggedEvent, numberNextEvents, readLogBounds } from './log/event-log.ts';
export { type EventReach, readEventReaches } from './log/event-reach.ts';
export { eventColumns, eventRow, presentEvent } from './log/event-row.ts';

interface Needs extends EventServices {
  config: { retention: { eventDays: number | undefined } };
}

export const events: Slice<Needs> = {
  name: 'events',
  routes: eventRoutes,
  retention: ({ config }) => [eventRetention(config.retention.eventDays)],
  periodic: (services) => [eventNumberingJob(services)],
};
