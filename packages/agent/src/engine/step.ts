/** Reports a step in full each time it starts, changes or ends. */
import type { Step } from '@headgate/contract';
import type { PipelineRun } from './run-context.ts';

/** Characters of a message in the agent protocol. */
const messageLimit = 10_000;

export type StepChange = Partial<Pick<Step, 'status' | 'message' | 'rowCount' | 'childPipeline'>>;

export interface RunningStep {
  current(): Step;
  change(change: StepChange): void;
  finish(status: Exclude<Step['status'], 'RUNNING'>, change?: StepChange): void;
}

/** @param label which iteration it is; it stands before the message in reports */
export function startStep(
  run: PipelineRun,
  component: { name: string; type: string },
  label?: string,
): RunningStep {
  const { ports } = run.context;
  run.context.countStep();
  let step: Step = {
    stepId: ports.newId(),
    pipelineRunId: run.pipelineRunId,
    name: component.name,
    componentType: component.type,
    status: 'RUNNING',
    startedAt: ports.now().toISOString(),
  };
  const report = () => ports.report(label === undefined ? step : addLabel(step, run.context.mask(label)));
  const change = (changes: StepChange & Pick<Partial<Step>, 'finishedAt'>) => {
    step = { ...step, ...changes };
    if (step.message !== undefined) step.message = cutMessage(run.context.mask(step.message));
    report();
  };
  report();
  return {
    current: () => step,
    change,
    finish(status, changes = {}) {
      // The machine's clock may have been set back.
      const now = ports.now().toISOString();
      change({ ...changes, status, finishedAt: now < step.startedAt ? step.startedAt : now });
    },
  };
}

function addLabel(step: Step, label: string): Step {
  const message = step.message === undefined ? label : `${label}\n${step.message}`;
  return { ...step, message: cutMessage(message) };
}

export function cutMessage(message: string): string {
  return message.length <= messageLimit ? message : `${message.slice(0, messageLimit - 1)}…`;
}
