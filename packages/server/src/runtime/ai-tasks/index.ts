import { setTimeout as delay } from 'node:timers/promises';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import type { Tool } from '../ai-tools/index.ts';
import type { AiSettings } from './ai-settings.ts';
import { createTaskRetention, createUsageRemoval } from './ai-task.retention.ts';
import { aiTaskRoutes, type RouteServices } from './ai-task.routes.ts';
import { createLiveTexts, type LiveTexts } from './live-text.ts';
import type { Model } from './model.ts';
import { createModelClient } from './model-client.ts';
import { ruleBasedModel } from './rule-based.ts';
import { createRunner } from './runner.ts';
import type { RunServices } from './task-run.ts';
import { tasksKey } from './task-state.ts';
import { createTools, type Tools } from './tool-set.ts';

export type { AiSettings, ModelSettings } from './ai-settings.ts';
export { createPlaceFinder } from './ai-task.routes.ts';
export { createRunner, type Runner } from './runner.ts';
export { buildTaskEvent, describeTask } from './task-event.ts';

/** What the tasks of one server share. */
export interface AiTasks {
  settings: AiSettings;
  tools: Tools;
  model: Model;
  live: LiveTexts;
}

export function createAiTasks(settings: AiSettings, tools: readonly Tool[]): AiTasks {
  return {
    settings,
    tools: createTools(tools),
    model: settings.model === undefined ? ruleBasedModel : createModelClient(settings.model),
    live: createLiveTexts(),
  };
}

interface Needs extends Omit<RunServices & RouteServices, keyof AiTasks> {
  ai: AiTasks;
  metrics: Metrics;
  config: { retention: { aiTaskDays: number | undefined } };
}

const lookMilliseconds = 1_000;

export const aiTasks: Slice<Needs> = {
  name: 'ai-tasks',
  retention: ({ config }) => [createTaskRetention(config.retention.aiTaskDays)],
  routes: (endpoints, { ai, ...services }) => aiTaskRoutes(endpoints, { ...services, ...ai }),
  periodic({ ai, ...services }) {
    const runner = createRunner({ ...services, ...ai });
    const { stopping, wakes } = services;
    let ring = () => {};
    wakes.listen((key) => {
      if (key === undefined || key === tasksKey) ring();
    });
    return [
      {
        name: 'AI tasks',
        everyMilliseconds: lookMilliseconds,
        firstAfterMilliseconds: 0,
        // One round lasts until the server stops, or the database fails.
        async run() {
          while (!stopping.aborted) {
            const rung = new AbortController();
            ring = () => rung.abort();
            await runner.look();
            const signal = AbortSignal.any([stopping, rung.signal]);
            await delay(lookMilliseconds, undefined, { signal }).catch(() => undefined);
          }
          await runner.wait();
          return false;
        },
      },
      createUsageRemoval(services),
    ];
  },
};
