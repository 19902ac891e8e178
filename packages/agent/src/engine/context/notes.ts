/** Adds to the message of a step that succeeded. */
import type { PipelineRun } from './run-context.ts';
import type { RunningStep } from './step.ts';

type Outcome = { status: string; message?: string };

/** @param withoutEffect names of parameters */
export function addNotes<R extends Outcome>(result: R, withoutEffect: readonly string[]): R {
  return addLines(result, withoutEffect.length === 0 ? [] : [`no effect here: ${withoutEffect.join(', ')}`]);
}

/** Says which rows of the tables that it wrote repeat a key. */
export async function addRepeatedKeys<R extends Outcome>(
  result: R,
  { context }: PipelineRun,
  step: RunningStep,
): Promise<R> {
  if (result.status !== 'SUCCESS') return result;
  return addLines(result, await context.repeatedKeys.describe(step.listWritten()));
}

function addLines<R extends Outcome>(result: R, lines: readonly string[]): R {
  if (result.status !== 'SUCCESS' || lines.length === 0) return result;
  const all = [...(result.message === undefined ? [] : [result.message]), ...lines];
  return { ...result, message: all.join('\n') };
}
