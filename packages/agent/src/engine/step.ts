/** Reports a step in full each time it starts, changes or ends. */
import type { Step } from '@headgate/contract';
import type { RunOutcome } from './ports.ts';
import type { PipelineRun } from './run-context.ts';
import { createStepSql } from './step-sql.ts';

/** How long a change may wait. Most steps end earlier, and need no report of their own for it. */
const noteMilliseconds = 250;
/** Characters of a message in the agent protocol. */
const messageLimit = 10_000;

export type StepChange = Partial<
  Pick<Step, 'status' | 'message' | 'rowCount' | 'childPipeline' | 'progress' | 'sql'>
>;

export interface RunningStep {
  current(): Step;
  change(change: StepChange): void;
  /** A change that may wait: it is reported with the next report, or after a moment. */
  note(change: StepChange): void;
  /** Shows a statement that the step runs. */
  noteStatement(sql: string): void;
  finish(status: Exclude<Step['status'], 'RUNNING'>, change?: StepChange): void;
}

/** Where a step stands among those of the same component. */
export interface StepPlace {
  /** Which iteration or attempt it is; it stands before the message in reports. */
  readonly label?: string;
  /** From 1; absent if the component has one attempt. */
  readonly attempt?: number;
}

export function startStep(
  run: PipelineRun,
  component: { name: string; type: string },
  { label, attempt }: StepPlace = {},
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
    ...(attempt === undefined ? {} : { attempt }),
  };
  let waiting: NodeJS.Timeout | undefined;
  const addStatement = createStepSql(run.context.mask, run.context.sqlRoom);
  const report = () => ports.report(label === undefined ? step : addLabel(step, run.context.mask(label)));
  const change = (changes: StepChange & Pick<Partial<Step>, 'finishedAt'>) => {
    clearTimeout(waiting);
    waiting = undefined;
    step = { ...step, ...changes };
    if (step.message !== undefined) step.message = cutMessage(run.context.mask(step.message));
    report();
  };
  const note = (changes: StepChange) => {
    step = { ...step, ...changes };
    waiting ??= setTimeout(change, noteMilliseconds, {}).unref();
  };
  report();
  return {
    current: () => step,
    change,
    note,
    noteStatement(statement) {
      const sql = addStatement(statement);
      if (sql !== undefined) note({ sql });
    },
    finish(status, changes = {}) {
      // The machine's clock may have been set back.
      const now = ports.now().toISOString();
      const { progress, ...rest } = step;
      step = rest;
      change({ ...changes, status, finishedAt: now < step.startedAt ? step.startedAt : now });
    },
  };
}

function addLabel(step: Step, label: string): Step {
  const message = step.message === undefined ? label : `${label}\n${step.message}`;
  return { ...step, message: cutMessage(message) };
}

/** Reports a step that does not run because the run is cancelled. Other halts leave no step. */
export function skipCancelled(
  run: PipelineRun,
  component: { name: string; type: string },
  { status, message }: RunOutcome,
): void {
  if (status !== 'CANCELLED') return;
  startStep(run, component).finish('SKIPPED', { message: `not run: ${message}` });
}

export function cutMessage(message: string): string {
  return message.length <= messageLimit ? message : `${message.slice(0, messageLimit - 1)}…`;
}
