/** Runs a target again until it succeeds. */
import type { Action } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';
import type { RunContext } from './run-context.ts';

export async function retry(
  { target, retries, delaySeconds }: Extract<Action, { action: 'retry' }>,
  { run: { context }, evaluation, runTarget }: ActionContext,
): Promise<ActionResult> {
  const attempts = retries + 1;
  for (let attempt = 1; ; attempt += 1) {
    const result = await runTarget(target, evaluation, `attempt ${attempt} of ${attempts}`);
    if (result.status === 'CANCELLED') return result;
    const counted = `${attempt} ${attempt === 1 ? 'attempt' : 'attempts'}`;
    if (result.status === 'SUCCESS') return { status: 'SUCCESS', message: `succeeded after ${counted}` };
    if (attempt === attempts)
      return { ...result, message: `failed after ${counted}: ${result.message ?? 'no message'}` };
    const halted = (await waitUnlessHalted(context, delaySeconds(attempt) * 1_000)) ?? context.findHalt();
    if (halted !== undefined) return halted;
  }
}

/** How often a wait looks for a cancellation. */
const lookMilliseconds = 500;

/** Returns the reason if the run has to end before the wait is over. */
async function waitUnlessHalted(
  context: RunContext,
  milliseconds: number,
): Promise<ActionResult | undefined> {
  let left = milliseconds;
  while (left > 0) {
    const halted = context.findHalt();
    if (halted !== undefined) return halted;
    const part = Math.min(left, lookMilliseconds);
    await context.ports.wait(part);
    left -= part;
  }
  return undefined;
}
