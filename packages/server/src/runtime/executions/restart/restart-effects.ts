/** The components that run again although they may have had an effect. */
import { mayHaveEffect, runsOthers } from '@headgate/pipelines';
import { createKeptTest, type EndedExecution, type RecordedStep, type RunSteps } from './restart-steps.ts';

export interface Repeated {
  component: string;
  why: string;
}

const whyOf = {
  SUCCESS: 'succeeded, and may have changed data',
  FAILED: 'failed, and may have changed data before',
  CANCELLED: 'was cancelled, and may have changed data before',
  SKIPPED: 'may have changed data',
  RUNNING: 'may have changed data',
} as const;

/**
 * @param retained the steps that are kept, of all runs
 * @param dropped what the base kept or had open, and that starts from its beginning
 */
export function listRepeated(
  execution: EndedExecution,
  steps: RunSteps,
  retained: ReadonlySet<string>,
  dropped: readonly string[],
): Repeated[] {
  const repeated = new Map<string, Repeated>();
  const add = (component: string, why: string) => {
    if (!repeated.has(component)) repeated.set(component, { component, why });
  };
  const isKept = createKeptTest(steps, retained);
  const visited = new Set<string>();
  function visit(runId: string): void {
    if (visited.has(runId)) return;
    visited.add(runId);
    const own = steps.of(runId);
    const again = own.filter((step) => !isKept(step));
    for (const step of again) {
      const why = execution.isLost ? judgeLost(step, hasInside(step)) : undefined;
      const known = why ?? judge(step);
      if (known !== undefined) add(step.name, known);
      if (step.childId !== null) visit(step.childId);
      if (!execution.isLost || step.record?.ended !== undefined) continue;
      for (const { name } of steps.inside(step.id))
        add(name, 'may have run once more when the agent was lost');
    }
    for (const { id, name, type } of steps.kept(runId))
      if (!retained.has(id) && (mayHaveEffect(type) || runsOthers(type)))
        add(name, 'ended before, and may have changed data');
    if (!execution.isLost) return;
    for (const name of listNext([...own, ...steps.kept(runId)]))
      add(name, 'was next when the agent was lost');
  }
  const hasInside = (step: RecordedStep) =>
    steps.inside(step.id).length > 0 || (step.childId !== null && steps.of(step.childId).length > 0);
  visit(execution.id);
  for (const name of dropped) add(name, 'ended or was under way before, and may have changed data');
  for (const name of execution.base?.repeats ?? []) {
    const own = execution.steps.filter((step) => step.name === name && step.record !== null);
    if (own.length === 0) add(name, 'may have changed data before, and was not reached again');
    else if (!own.every(isKept)) add(name, 'may have changed data before');
  }
  if (execution.isLost && steps.of(execution.id).length === 0)
    add(execution.pipelineName, 'its agent was lost before it reported a step');
  return [...repeated.values()];
}

function judge({ type, status, record }: RecordedStep): string | undefined {
  if (record?.ended === undefined && mayHaveEffect(type)) return 'did not end, and may have changed data';
  return record?.effect === true ? whyOf[status] : undefined;
}

/** What a step may have done without a report. The steps in it are judged by themselves. */
function judgeLost({ status, record }: RecordedStep, hasInside: boolean): string | undefined {
  if (record?.ended === undefined) return hasInside ? undefined : 'was running when the agent was lost';
  const isRetried = status === 'FAILED' && record.next === undefined;
  return isRetried ? 'may have been tried again when the agent was lost' : undefined;
}

/** Components to which an end led, and of which nothing is known. */
function listNext(steps: readonly RecordedStep[]): string[] {
  const known = new Set(steps.map(({ name }) => name));
  return steps.flatMap(({ record }) => record?.next ?? []).filter((name) => !known.has(name));
}
