import type { Slice } from '../../kernel/slice/slice.ts';
import { type ClockChangeServices, createClockChangeJob } from './clock-change.ts';
import { scheduleRoutes } from './schedule.routes.ts';
import { scheduleControlRoutes } from './schedule-control.routes.ts';
import { createTickJob, type TickServices } from './schedule-ticks.ts';
import type { ScheduleLimits } from './shortest-interval.ts';

export {
  lockSchedule,
  type ScheduleRow,
  scheduleById,
  scheduleColumns,
  scheduleRow,
} from './schedule.store.ts';
export { createWantedStart, haveSameTimes, requireTimetable } from './schedule.ts';
export type { TickServices } from './schedule-ticks.ts';
export { requireRunnable } from './schedule-write.ts';
export { createScheduledRun } from './scheduled-run.ts';
export { lateCode } from './tick.ts';
export { ignoreStart, listTicks, nextTickAfter, type Timetable } from './timetable.ts';

export const schedules: Slice<TickServices & ClockChangeServices & { config: ScheduleLimits }> = {
  name: 'schedules',
  routes(endpoints, services) {
    scheduleRoutes(endpoints, services);
    scheduleControlRoutes(endpoints, services);
  },
  periodic: (services) => [createTickJob(services), createClockChangeJob(services)],
};
