import type { Slice } from '../../kernel/slice/slice.ts';
import { scheduleRoutes } from './schedule.routes.ts';
import { scheduleControlRoutes } from './schedule-control.routes.ts';
import { createTickJob, type TickServices } from './schedule-ticks.ts';

export { fireDueSchedules } from './schedule-ticks.ts';

export const schedules: Slice<TickServices> = {
  name: 'schedules',
  routes(endpoints, services) {
    scheduleRoutes(endpoints);
    scheduleControlRoutes(endpoints, services);
  },
  periodic: (services) => [createTickJob(services)],
};
