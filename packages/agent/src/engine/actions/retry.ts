/** Runs a target again until it succeeds. */
import type { Action } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import { waitUnlessHalted } from '../context/waiting.ts';

export async function retry(
  { target, retries, delaySeconds }: Extract<Action, { action: 'retry' }>,
  { run: { context }, evaluation, runTarget }: ActionContext,
): Promise<ActionResult> {
  const attempts = retries + 1;
  for (let attempt = 1; ; attempt += 1) {
    const place = { label: `attempt ${attempt} of ${attempts}`, attempt };
    const result = await runTarget(target, evaluation, place);
    if (result.status === 'CANCELLED') return result;
    const counted = `${attempt} ${attempt === 1 ? 'attempt' : 'attempts'}`;
    if (result.status === 'SUCCESS') return { status: 'SUCCESS', message: `succeeded after ${counted}` };
    if (attempt === attempts)
      return { status: 'FAILED', message: `failed after ${counted}: ${result.message ?? 'no message'}` };
    const halted = (await waitUnlessHalted(context, delaySeconds(attempt) * 1_000)) ?? context.findHalt();
    if (halted !== undefined) return halted;
  }
}
