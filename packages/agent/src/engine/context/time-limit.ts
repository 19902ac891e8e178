/** Limits the time of one attempt of a component, with everything that it runs. */
import type { Pipeline } from '@headgate/pipelines';
import type { PipelineRun } from './run-context.ts';

export interface TimeLimit<P extends Pipeline> {
  /** The same run. At the end of the time its statement and script are ended, and no further step starts. */
  run: PipelineRun<P>;
  /** The component's work has ended. */
  clear(): void;
}

/** @param seconds undefined: the time is not limited */
export function limitTime<P extends Pipeline>(
  run: PipelineRun<P>,
  component: string,
  seconds: number | undefined,
): TimeLimit<P> {
  if (seconds === undefined) return { run, clear: () => undefined };
  const { context } = run;
  const controller = new AbortController();
  const late = new Error(
    `"${component}" ran longer than its timeout of ${seconds} s and was ended: let it do less, or raise its "timeout"`,
  );
  const clear = context.ports.startTimer(seconds * 1_000, () => controller.abort(late));
  const signals = [controller.signal, ...(context.limit === undefined ? [] : [context.limit])];
  const limit = AbortSignal.any(signals);
  const limited = {
    ...context,
    limit,
    warehouse: context.warehouse.limit(limit),
    findHalt: () => findLateness(limit) ?? context.findHalt(),
  };
  return { run: { ...run, context: limited }, clear };
}

/** Why the work under the limit has to end; undefined while it has time. */
export function findLateness(
  limit: AbortSignal | undefined,
): { status: 'FAILED'; message: string } | undefined {
  if (limit?.aborted !== true) return undefined;
  return { status: 'FAILED', message: (limit.reason as Error).message };
}
