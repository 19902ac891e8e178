/** The components that run again although they may have had an effect. */
import { mayHaveEffect } from '@headgate/pipelines';
import type { EndedExecution, RecordedStep, RunSteps } from './restart-steps.ts';

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

/** @param kept the steps that are kept, of all runs */
export function listRepeated(
  execution: EndedExecution,
  steps: RunSteps,
  kept: ReadonlySet<string>,
): Repeated[] {
  const repeated = new Map<string, Repeated>();
  const add = (component: string, why: string) => {
    if (!repeated.has(component)) repeated.set(component, { component, why });
  };
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
    if (!execution.isLost) return;
    for (const name of listNext([...own, ...steps.kept(runId)]))
      add(name, 'was next when the agent was lost');
  }
  const places = new Set<string>();
  for (const id of kept) {
    const place = describePlace(steps.byId(id));
    if (place !== undefined) places.add(place);
  }
  function isKept(step: RecordedStep | undefined): boolean {
    if (step === undefined) return false;
    const place = describePlace(step);
    if (kept.has(step.id) || (place !== undefined && places.has(place))) return true;
    const parent = step.record?.parent;
    return parent !== undefined && isKept(steps.byId(parent));
  }
  const hasInside = (step: RecordedStep) =>
    steps.inside(step.id).length > 0 || (step.childId !== null && steps.of(step.childId).length > 0);
  visit(execution.id);
  if (execution.isLost && steps.of(execution.id).length === 0)
    add(execution.pipelineName, 'its agent was lost before it reported a step');
  return [...repeated.values()];
}

/** The same for all attempts of a component, or of an iteration. */
function describePlace(step: RecordedStep | undefined): string | undefined {
  if (step === undefined) return undefined;
  const { parent, iteration } = step.record ?? {};
  if (parent === undefined) return JSON.stringify([step.runId, step.name]);
  return iteration === undefined ? undefined : JSON.stringify([parent, iteration, 0]);
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
