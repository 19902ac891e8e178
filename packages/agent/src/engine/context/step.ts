/** Reports a step in full each time it starts, changes or ends. */
import type { RestartedRun, Step, StepRecord } from '@headgate/contract';
import type { VariableScope } from '@headgate/pipelines';
import type { RunOutcome } from '../ports/ports.ts';
import { onlyReads } from '../session/reading-sql.ts';
import type { WrittenTable } from '../session/repeated-keys.ts';
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
  /** The tables to which its statements have added rows, or whose rows they have changed. */
  listWritten(): Iterable<WrittenTable>;
  /** It begins what may change more than variables. */
  noteEffect(): void;
  finish(status: Exclude<Step['status'], 'RUNNING'>, change?: StepChange, end?: EndRecord): void;
}

/** Where a step stands among those of the same component. */
export interface StepPlace {
  /** Which iteration or attempt it is; it stands before the message in reports. */
  readonly label?: string;
  /** From 1; absent if the component has one attempt. */
  readonly attempt?: number;
  /** The step of the iterator or retry that runs it. */
  readonly parent?: string;
  /** A digest of the values of its iteration. */
  readonly iteration?: string;
  /** Its variables; absent for those of its pipeline. */
  readonly scope?: VariableScope;
  /** A restart does not need it. */
  readonly isUnrecorded?: true;
  /** It does not run, because a restart keeps what it did. */
  readonly isKept?: true;
}

/** What a restart needs to know of the end of a component. */
export type EndRecord = Pick<StepRecord, 'next' | 'branch'>;

export function startStep(
  run: PipelineRun,
  component: { name: string; type: string },
  { label, attempt, parent, iteration, scope = run.scope, isUnrecorded, isKept }: StepPlace = {},
): RunningStep {
  const { ports, records } = run.context;
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
  let record: StepRecord = {
    began: records.countEnds(),
    ...(parent === undefined ? {} : { parent }),
    ...(iteration === undefined ? {} : { iteration }),
    ...(isKept === undefined ? {} : { kept: true }),
  };
  const addRecord = (changes: Partial<StepRecord> = {}) => {
    record = { ...record, ...changes };
    if (isUnrecorded !== true) step = { ...step, restart: record };
  };
  addRecord();
  let waiting: NodeJS.Timeout | undefined;
  const addStatement = createStepSql(run.context.showSql, run.context.sqlRoom);
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
  const written = new Map<string, WrittenTable>();
  report();
  const noteEffect = () => {
    if (record.effect === true) return;
    addRecord({ effect: true });
    // The server should know of it before it happens.
    change({});
  };
  return {
    current: () => step,
    noteEffect,
    change,
    note,
    listWritten: () => written.values(),
    noteStatement(statement) {
      const table = run.context.repeatedKeys.note(statement);
      if (table !== undefined) written.set(table.written, table);
      const sql = addStatement(statement);
      if (sql !== undefined) note({ sql });
      if (!onlyReads(statement)) noteEffect();
    },
    finish(status, changes = {}, end = {}) {
      // The machine's clock may have been set back.
      const now = ports.now().toISOString();
      const { progress, ...rest } = step;
      step = rest;
      if (isUnrecorded !== true) {
        const within = scope === run.scope ? 'pipeline' : parent === undefined ? 'branch' : 'iteration';
        const variables = records.takeChanges(run.pipelineRunId, scope, within);
        const ended = records.addEnd();
        addRecord({ ...end, ended, ...(variables.length === 0 ? {} : { variables }) });
      }
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
  startStep(run, component, { isUnrecorded: true }).finish('SKIPPED', { message: `not run: ${message}` });
}

/** Reports a component that does not run, because it ended in the restarted execution. */
export function reportKept(
  run: PipelineRun,
  component: { name: string; type: string },
  { end, next }: RestartedRun['kept'][number],
): void {
  const how = end === 'FAILED' ? 'failed there, and the failure was handled' : 'ended there';
  const message = `not run again, see the execution ${run.context.request.restart?.restartOf}: it ${how}`;
  startStep(run, component, { isKept: true }).finish('SKIPPED', { message }, { next });
}

export function cutMessage(message: string): string {
  return message.length <= messageLimit ? message : `${message.slice(0, messageLimit - 1)}…`;
}
