import type { Slice } from '../../kernel/slice/slice.ts';
import { type ClockChangeServices, createClockChangeJob } from './clock-change.ts';
import type { ScheduleLimits } from './schedule/shortest-interval.ts';
import { scheduleRoutes } from './schedule.routes.ts';
import { scheduleControlRoutes } from './schedule-control.routes.ts';
import { createTickJob, type TickServices } from './schedule-ticks.ts';

export {
  lockSchedule,
  type ScheduleRow,
  scheduleById,
  scheduleColumns,
  scheduleRow,
} from './schedule/schedule.store.ts';
export { createWantedStart, haveSameTimes, requireTimetable } from './schedule/schedule.ts';
export { requireRunnable } from './schedule/schedule-write.ts';
export type { TickServices } from './schedule-ticks.ts';
export { createScheduledRun } from './scheduled-run.ts';
export { lateCode } from './tick.ts';
export { ignoreStart, listTicks, nextTickAfter, type Timetable } from './timetable/timetable.ts';

export const schedules: Slice<TickServices & ClockChangeServices & { config: ScheduleLimits }> = {
  name: 'schedules',
  routes(endpoints, services) {
    scheduleRoutes(endpoints, services);
    scheduleControlRoutes(endpoints, services);
  },
  periodic: (services) => [createTickJob(services), createClockChangeJob(services)],
};
