import type { Slice } from '../../kernel/slice/slice.ts';
import { eventRetention } from './event.retention.ts';
import { type EventServices, eventRoutes } from './event.routes.ts';
import { eventNumberingJob } from './event-numbering.ts';

export { type Counted, createFullRanges } from './event.total.ts';
export { type LoggedEvent, numberNextEvents, readLogBounds } from './event-log.ts';
export { type EventReach, readEventReaches } from './event-reach.ts';
export { eventColumns, eventRow, presentEvent } from './event-row.ts';

interface Needs extends EventServices {
  config: { retention: { eventDays: number | undefined } };
}

export const events: Slice<Needs> = {
  name: 'events',
  routes: eventRoutes,
  retention: ({ config }) => [eventRetention(config.retention.eventDays)],
  periodic: (services) => [eventNumberingJob(services)],
};
