/** Runs an iterator's target once for each iteration, sequentially or concurrently. */
import type { StepProgress } from '@headgate/contract';
import { type Action, concurrencyLimit, type Iteration, type IterationMode } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';
import { describeTooManyRows, queryUpTo } from './variable-actions.ts';

interface Iterations extends IterationMode {
  readonly iterations: readonly Iteration[];
  /** What the step says beside the number of iterations. */
  readonly message?: string;
}

export async function iterate(action: Iterations, context: ActionContext): Promise<ActionResult> {
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
  return halted ?? summarize(action, done, failures);
}

export async function iterateQuery(
  { query, list, ...mode }: Extract<Action, { action: 'iterate-query' }>,
  context: ActionContext,
): Promise<ActionResult> {
  const limit = context.run.context.request.bounds.iterations;
  const result = await queryUpTo(context.run.context, query, limit);
  if (result === undefined) return { status: 'FAILED', message: describeTooManyRows('an iterator', limit) };
  return iterate({ iterations: list(result), ...mode }, context);
}

async function runIteration(
  { iterations, target }: Iterations,
  number: number,
  context: ActionContext,
): Promise<ActionResult> {
  const iteration = iterations[number] ?? [];
  const scope = context.evaluation.scope.branch();
  for (const [variable, value] of iteration) scope.setScalar(variable, value);
  const label = describeIteration(number + 1, iterations.length, iteration, context.run.context.mask);
  return context.runTarget(target, { ...context.evaluation, scope }, { label });
}

function computeProgress(done: number, total: number): StepProgress {
  return { done, total, unit: 'iterations', percent: Math.floor((100 * done) / total) };
}

/** Characters of one value, and of all of them, that a step shows. */
const shownValue = 100;
const shownValues = 1_000;

/** A value is cut only after secrets in it are masked. */
function describeIteration(
  number: number,
  total: number,
  iteration: Iteration,
  mask: (text: string) => string,
): string {
  const values = iteration.map(
    ([variable, value]) => `${variable} = ${cut(mask(String(value ?? '')), shownValue)}`,
  );
  const shown = values.length === 0 ? '' : `: ${cut(values.join(', '), shownValues)}`;
  return `iteration ${number} of ${total}${shown}`;
}

const cut = (text: string, limit: number) => (text.length <= limit ? text : `${text.slice(0, limit)}…`);

function summarize(
  { iterations: { length: total }, message }: Iterations,
  done: number,
  failures: readonly { iteration: number; result: ActionResult }[],
): ActionResult {
  const [first] = [...failures].sort((left, right) => left.iteration - right.iteration);
  if (first === undefined) {
    const counted = `${done} ${done === 1 ? 'iteration' : 'iterations'}`;
    return { status: 'SUCCESS', message: message === undefined ? counted : `${counted}; ${message}` };
  }
  const skipped = done < total ? `, ${total - done} not started` : '';
  const why = first.result.message ?? 'no message';
  return {
    status: 'FAILED',
    message: `${failures.length} of ${total} iterations failed${skipped}; number ${first.iteration + 1}: ${why}`,
  };
}
