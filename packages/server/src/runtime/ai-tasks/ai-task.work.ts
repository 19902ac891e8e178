/** Works on AI tasks. Another server goes on with one of a server that is silent. */
import { createPlaces } from '../../kernel/work/places.ts';
import type { HeldWork } from '../../kernel/work/server-work.ts';
import type { ServerWorkKind } from '../../kernel/work/server-worker.ts';
import { handleFailedStep } from './failed-step.ts';
import { type RunServices, runTask } from './store/task-run.ts';
import { taskKind, tasksKey } from './store/task-state.ts';
import { takeStep } from './task-step.ts';

export function createTaskWork(services: RunServices): ServerWorkKind {
  const { concurrency } = services.settings;
  const keyOf = (held: HeldWork) => ({ ...held, task_id: held.work_id });
  return {
    kind: taskKind,
    name: 'AI tasks',
    wakeKey: tasksKey,
    lookMilliseconds: 1_000,
    leaseSeconds: 20,
    places: createPlaces(concurrency, concurrency),
    // A step that blocks its server counts as well, so the next step ends the task.
    mostInterruptions: Number.POSITIVE_INFINITY,
    run: (held, signal) => runTask(services, keyOf(held), signal, takeStep),
    fail: (held, failure) => handleFailedStep(services, keyOf(held), failure),
  };
}
