import type { Metrics } from '../../kernel/metrics.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createWorkerJob, type WorkerServices } from '../../kernel/work/server-worker.ts';
import { createTaskRetention, createUsageRemoval } from './ai-task.retention.ts';
import { aiTaskRoutes, type RouteServices } from './ai-task.routes.ts';
import { createTaskWork } from './ai-task.work.ts';
import type { AiTasks } from './ai-tasks.ts';
import type { RunServices } from './store/task-run.ts';

export { createPlaceFinder } from './ai-task.routes.ts';
export { type AiTasks, createAiTasks } from './ai-tasks.ts';
export type { AiSettings, ModelSettings } from './model/ai-settings.ts';
export { buildTaskEvent, type TaskDescription } from './store/task-event.ts';

interface Needs extends WorkerServices, Omit<RunServices & RouteServices, keyof AiTasks> {
  ai: AiTasks;
  metrics: Metrics;
  config: { retention: { aiTaskDays: number | undefined } };
}

export const aiTasks: Slice<Needs> = {
  name: 'ai-tasks',
  retention: ({ config }) => [createTaskRetention(config.retention.aiTaskDays)],
  routes: (endpoints, { ai, ...services }) => aiTaskRoutes(endpoints, { ...services, ...ai }),
  periodic({ ai, ...services }) {
    return [createWorkerJob(services, createTaskWork({ ...services, ...ai })), createUsageRemoval(services)];
  },
};
