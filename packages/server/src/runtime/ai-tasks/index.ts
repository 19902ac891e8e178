import type { Metrics } from '../../kernel/metrics.ts';
import { createLookJob } from '../../kernel/retention/look-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createTaskRetention, createUsageRemoval } from './ai-task.retention.ts';
import { aiTaskRoutes, type RouteServices } from './ai-task.routes.ts';
import type { AiTasks } from './ai-tasks.ts';
import { createRunner } from './runner.ts';
import type { RunServices } from './store/task-run.ts';
import { tasksKey } from './store/task-state.ts';

export { createPlaceFinder } from './ai-task.routes.ts';
export { type AiTasks, createAiTasks } from './ai-tasks.ts';
export type { AiSettings, ModelSettings } from './model/ai-settings.ts';
export { buildTaskEvent, describeTask } from './store/task-event.ts';

interface Needs extends Omit<RunServices & RouteServices, keyof AiTasks> {
  ai: AiTasks;
  metrics: Metrics;
  config: { retention: { aiTaskDays: number | undefined } };
}

export const aiTasks: Slice<Needs> = {
  name: 'ai-tasks',
  retention: ({ config }) => [createTaskRetention(config.retention.aiTaskDays)],
  routes: (endpoints, { ai, ...services }) => aiTaskRoutes(endpoints, { ...services, ...ai }),
  periodic({ ai, ...services }) {
    const looker = createRunner({ ...services, ...ai });
    return [
      createLookJob(services, { name: 'AI tasks', key: tasksKey, looker }),
      createUsageRemoval(services),
    ];
  },
};
