/** Runs an iterator's target once for each row, sequentially or concurrently. */
import type { StepProgress } from '@headgate/contract';
import { type Action, concurrencyLimit } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';

type Iterate = Extract<Action, { action: 'iterate' }>;

export async function iterate(action: Iterate, context: ActionContext): Promise<ActionResult> {
  const { iterations, concurrent, breakOnFailure } = action;
  const { bounds } = context.run.context.request;
  if (iterations.length > bounds.iterations) {
    const message = `the iterator has ${iterations.length} iterations; the limit is ${bounds.iterations}: filter the rows`;
    return { status: 'FAILED', message };
  }
  const failures: { iteration: number; result: ActionResult }[] = [];
  let halted: ActionResult | undefined;
  let next = 0;
  let done = 0;
  async function work(): Promise<void> {
    while (next < iterations.length && !(breakOnFailure && failures.length > 0)) {
      halted ??= context.run.context.findHalt();
      if (halted !== undefined) return;
      const iteration = next;
      next += 1;
      const result = await runIteration(action, iteration, context);
      done += 1;
      context.step.note({ progress: computeProgress(done, iterations.length) });
      if (result.status === 'CANCELLED') halted ??= result;
      else if (result.status === 'FAILED') failures.push({ iteration, result });
    }
  }
  const workers = concurrent ? Math.min(concurrencyLimit, iterations.length) : 1;
  await Promise.all(Array.from({ length: workers }, work));
  return halted ?? summarize(iterations.length, done, failures);
}

async function runIteration(
  action: Iterate,
  iteration: number,
  context: ActionContext,
): Promise<ActionResult> {
  const scope = context.evaluation.scope.branch();
  for (const [variable, value] of action.iterations[iteration] ?? []) scope.setScalar(variable, value);
  return context.runTarget(action.target, { ...context.evaluation, scope });
}

function computeProgress(done: number, total: number): StepProgress {
  return { done, total, unit: 'iterations', percent: Math.floor((100 * done) / total) };
}

function summarize(
  total: number,
  done: number,
  failures: readonly { iteration: number; result: ActionResult }[],
): ActionResult {
  const [first] = [...failures].sort((left, right) => left.iteration - right.iteration);
  if (first === undefined)
    return { status: 'SUCCESS', message: `${done} ${done === 1 ? 'iteration' : 'iterations'}` };
  const skipped = done < total ? `, ${total - done} not started` : '';
  const why = first.result.message ?? 'no message';
  return {
    status: 'FAILED',
    message: `${failures.length} of ${total} iterations failed${skipped}; number ${first.iteration + 1}: ${why}`,
  };
}
