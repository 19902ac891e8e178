/** Runs a component until an attempt does not fail or none is left. Each attempt is a step. */
import type { Attempts, Pipeline } from '@headgate/pipelines';
import { isPermanentFault } from '../../permanent-fault.ts';
import type { ActionResult } from '../context/action-context.ts';
import type { PipelineRun } from '../context/run-context.ts';
import { type EndRecord, type RunningStep, type StepPlace, startStep } from '../context/step.ts';
import { findLateness, limitTime } from '../context/time-limit.ts';
import { waitUnlessHalted } from '../context/waiting.ts';

interface Attempted {
  readonly name: string;
  readonly type: string;
  readonly attempts?: Attempts;
}

export interface AttemptWork<P extends Pipeline> {
  /** One attempt. An error is its failure. */
  perform(run: PipelineRun<P>, step: RunningStep): Promise<ActionResult>;
  /** What follows the last attempt, as a part of its step. Never rejects. */
  complete?(step: RunningStep, result: ActionResult): Promise<ActionResult>;
  /** What a restart needs to know of the last attempt's end. */
  describeEnd?(result: ActionResult): EndRecord;
}

/** Never rejects. */
export async function runAttempts<P extends Pipeline>(
  run: PipelineRun<P>,
  component: Attempted,
  place: StepPlace,
  { perform, complete = async (_, result) => result, describeEnd = () => ({ next: [] }) }: AttemptWork<P>,
): Promise<ActionResult> {
  const { retries = 0, delaySeconds = 0, timeoutSeconds } = component.attempts ?? {};
  const total = retries + 1;
  for (let attempt = 1; ; attempt += 1) {
    const step = startStep(run, component, total === 1 ? place : addAttempt(place, attempt, total));
    const result = await performInTime(run, component.name, timeoutSeconds, (limited) =>
      perform(limited, step),
    );
    const halted = run.context.findHalt();
    const isOver = attempt === total || result.isPermanent === true;
    if (result.status !== 'FAILED' || isOver || halted !== undefined) {
      const completed = await complete(step, attempt < total ? sayWhyOnce(result) : result);
      finishStep(step, completed, describeEnd(completed));
      return attempt === 1 ? completed : addCount(completed, attempt);
    }
    finishStep(step, result);
    const stopped = (await waitUnlessHalted(run.context, delaySeconds * 1_000)) ?? run.context.findHalt();
    if (stopped !== undefined) return stopped;
  }
}

async function performInTime<P extends Pipeline>(
  run: PipelineRun<P>,
  component: string,
  seconds: number | undefined,
  perform: (run: PipelineRun<P>) => Promise<ActionResult>,
): Promise<ActionResult> {
  const limited = limitTime(run, component, seconds);
  try {
    const result = await perform(limited.run);
    return result.status === 'FAILED' ? describeLateness(limited.run, result) : result;
  } catch (error) {
    const isPermanent = isPermanentFault(error) ? { isPermanent: true as const } : {};
    return describeLateness(limited.run, {
      status: 'FAILED',
      message: run.context.describeError(error),
      ...isPermanent,
    });
  } finally {
    limited.clear();
  }
}

/** What an ended statement or script says does not tell that its time ran out. */
function describeLateness({ context }: PipelineRun, result: ActionResult): ActionResult {
  const late = findLateness(context.limit);
  return late === undefined ? result : { ...result, message: late.message };
}

function finishStep(
  step: RunningStep,
  { status, message, rowCount }: ActionResult,
  end: EndRecord = {},
): void {
  const change = {
    ...(message === undefined ? {} : { message }),
    ...(rowCount === undefined ? {} : { rowCount }),
  };
  step.finish(status, change, end);
}

function addAttempt({ label, ...place }: StepPlace, attempt: number, total: number): StepPlace {
  const counted = `attempt ${attempt} of ${total}`;
  return { ...place, attempt, label: label === undefined ? counted : `${label}; ${counted}` };
}

function sayWhyOnce(result: ActionResult): ActionResult {
  if (result.isPermanent !== true) return result;
  const message = `${result.message ?? 'no message'} (not run again: another attempt would fail in the same way)`;
  return { ...result, message };
}

/** For the message of the pipeline. Each step already has its own. */
function addCount(result: ActionResult, attempts: number): ActionResult {
  if (result.status !== 'FAILED' || result.fromChild === true) return result;
  return { ...result, message: `${result.message ?? 'no message'} (${attempts} attempts)` };
}
