/** An ended execution and its steps, by what the planning of a restart asks for. */
import type { RestartPlan, StepRecord, StepStatus } from '@headgate/contract';

export interface RecordedStep {
  id: string;
  /** The run of its pipeline. */
  runId: string;
  name: string;
  type: string;
  status: StepStatus;
  /** The run of the pipeline that it calls. */
  childId: string | null;
  /** Null if its agent recorded nothing. */
  record: StepRecord | null;
}

export interface RunSteps {
  byId(id: string): RecordedStep | undefined;
  /** All steps of a run, except those that a restart kept. */
  of(runId: string): readonly RecordedStep[];
  /** Those that no iterator or retry runs. */
  tops(runId: string): readonly RecordedStep[];
  /** Those that an iterator or retry runs. */
  inside(stepId: string): readonly RecordedStep[];
}

export interface EndedExecution {
  id: string;
  pipelineName: string;
  /** In the order of their starts. */
  steps: readonly RecordedStep[];
  base: RestartPlan | undefined;
  /** Its agent did not report the end. */
  isLost: boolean;
  /** Its project's variables, as they were recorded at its start. */
  projectVariables: RestartPlan['projectVariables'];
}

/** A run of a pipeline that is planned, and the steps that are kept of it and of what it calls. */
export interface PlannedRun {
  index: number;
  kept: ReadonlySet<string>;
}

/** What the parts of one planning share. */
export interface Planning {
  readonly execution: EndedExecution;
  readonly steps: RunSteps;
  /** The runs of the plan so far. */
  readonly runs: RestartPlan['runs'][number][];
  /** Plans the run of a called pipeline; undefined if it has to start from its beginning. */
  planCalled(runId: string | undefined, baseIndex: number | undefined): PlannedRun | undefined;
}

export function createSteps(all: readonly RecordedStep[]): RunSteps {
  const ran = all.filter(({ record }) => record !== null && record.kept !== true);
  const byId = new Map(ran.map((step) => [step.id, step]));
  const byRun = Map.groupBy(ran, ({ runId }) => runId);
  const tops = Map.groupBy(
    ran.filter(({ record }) => record?.parent === undefined),
    ({ runId }) => runId,
  );
  const inside = Map.groupBy(ran, ({ record }) => record?.parent);
  return {
    byId: (id) => byId.get(id),
    of: (runId) => byRun.get(runId) ?? [],
    tops: (runId) => tops.get(runId) ?? [],
    inside: (stepId) => inside.get(stepId) ?? [],
  };
}
