/** Runs an iterator's target once for each iteration, sequentially or concurrently. */
import { createHash } from 'node:crypto';
import type { StepProgress } from '@headgate/contract';
import { type Action, concurrencyLimit, type Iteration, type IterationMode } from '@headgate/pipelines';
import type { ActionContext, ActionResult, RestartedComponent } from '../context/action-context.ts';
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
  const { left, retained, partial } = chooseIterations(iterations, context.restarted);
  const workers = concurrent ? Math.min(concurrencyLimit, left.length) : 1;
  let next = 0;
  let done = retained;
  if (iterations.length > 0) context.step.note({ progress: computeProgress(done, iterations.length) });
  async function work(): Promise<void> {
    while (next < left.length && !(breakOnFailure && failures.length > 0)) {
      halted ??= context.run.context.findHalt();
      if (halted !== undefined) return;
      const iteration = left[next] ?? 0;
      next += 1;
      const result = await runIteration(action, iteration, context, { partial, isConcurrent: workers > 1 });
      done += 1;
      context.step.note({ progress: computeProgress(done, iterations.length) });
      if (result.status === 'CANCELLED') halted ??= result;
      else if (result.status === 'FAILED') failures.push({ iteration, result });
    }
  }
  await Promise.all(Array.from({ length: workers }, work));
  const summary = summarize(action, done, failures);
  return halted ?? (retained === 0 ? summary : addRetained(summary, retained));
}

/** By the digest of an iteration. */
type PartialIterations = Map<string, RestartedComponent>;

/** An iteration of a restarted run is kept if one with the same values succeeded before. */
function chooseIterations(
  iterations: readonly Iteration[],
  { iterations: done = [], partial = [] }: RestartedComponent = {},
): { left: number[]; retained: number; partial: PartialIterations } {
  const counts = new Map<string, number>();
  for (const key of done) counts.set(key, (counts.get(key) ?? 0) + 1);
  const left = [...iterations.keys()].filter((index) => {
    if (counts.size === 0) return true;
    const key = digestIteration(iterations[index] ?? []);
    const count = counts.get(key) ?? 0;
    counts.set(key, count - 1);
    return count <= 0;
  });
  const under = new Map(partial.map(({ iteration, ...each }) => [iteration, each]));
  return { left, retained: iterations.length - left.length, partial: under };
}

function digestIteration(iteration: Iteration): string {
  return createHash('sha256').update(JSON.stringify(iteration)).digest('hex').slice(0, 32);
}

function addRetained(result: ActionResult, retained: number): ActionResult {
  const note = `${retained} of them done before the restart`;
  return { ...result, message: result.message === undefined ? note : `${result.message}; ${note}` };
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
  { partial, isConcurrent }: { partial: PartialIterations; isConcurrent: boolean },
): Promise<ActionResult> {
  const iteration = iterations[number] ?? [];
  const scope = context.evaluation.scope.branch();
  for (const [variable, value] of iteration) scope.setScalar(variable, value);
  const label = describeIteration(number + 1, iterations.length, iteration, context.run.context.mask);
  const key = digestIteration(iteration);
  const before = partial.get(key);
  partial.delete(key);
  const place = { label, iteration: key, isConcurrent };
  return context.runTarget(target, { ...context.evaluation, scope }, place, before);
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
