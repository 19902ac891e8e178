/** An ended execution and its steps, by what the planning of a restart asks for. */
import type { CarriedVariable, RestartPlan, StepRecord, StepStatus } from '@headgate/contract';
import { pipelineDepthLimit } from '@headgate/pipelines';

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
  /** Those that did not run, because a restart kept them. */
  kept(runId: string): readonly RecordedStep[];
  /** Those that no iterator or retry runs. */
  tops(runId: string): readonly RecordedStep[];
  /** Those that an iterator or retry runs. */
  inside(stepId: string): readonly RecordedStep[];
}

export interface EndedExecution {
  id: string;
  pipelineName: string;
  /** In the order in which they were first reported. */
  steps: readonly RecordedStep[];
  base: RestartPlan | undefined;
  /** Its agent did not report the end. */
  isLost: boolean;
  /** Its project's variables, as they were recorded at its start. */
  projectVariables: RestartPlan['projectVariables'];
  /** The values that each called pipeline was given, by its run. */
  calledWith: ReadonlyMap<string, readonly CarriedVariable[]>;
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
  /** What the base kept or had open, and that has to start from its beginning. */
  readonly dropped: string[];
  /** Plans the run of a called pipeline; undefined if it has to start from its beginning. */
  planCalled(runId: string | undefined, baseIndex: number | undefined): PlannedRun | undefined;
}

/**
 * A test for the steps that do not run again. Kept with a step are its earlier attempts, and what it ran.
 *
 * @param ids the steps that are kept
 */
export function createKeptTest(steps: RunSteps, ids: ReadonlySet<string>): (step: RecordedStep) => boolean {
  const places = new Set([...ids].flatMap((id) => describePlace(steps.byId(id)) ?? []));
  return function isKept(step: RecordedStep): boolean {
    const place = describePlace(step);
    if (ids.has(step.id) || (place !== undefined && places.has(place))) return true;
    const parent = step.record?.parent === undefined ? undefined : steps.byId(step.record.parent);
    return parent !== undefined && isKept(parent);
  };
}

/** The same for all attempts of a component, or of an iteration. */
function describePlace(step: RecordedStep | undefined): string | undefined {
  if (step === undefined) return undefined;
  const { parent, iteration } = step.record ?? {};
  if (parent === undefined) return JSON.stringify([step.runId, step.name]);
  return iteration === undefined ? undefined : JSON.stringify([parent, iteration, 0]);
}

/** Iterators inside each other. A pipeline has at most as many as components. */
const iteratorDepthLimit = 100;

/**
 * What contradicts itself, such as a step that is its own parent, is taken apart: agents are not trusted.
 *
 * @param all in the order in which they were first reported
 */
export function createSteps(all: readonly RecordedStep[], rootId: string): RunSteps {
  const ran = all.filter(({ record }) => record !== null && record.kept !== true);
  const sound = withSoundCalls(withSoundParents(ran), rootId);
  const byId = new Map(sound.map((step) => [step.id, step]));
  const byRun = Map.groupBy(sound, ({ runId }) => runId);
  const tops = Map.groupBy(
    sound.filter(({ record }) => record?.parent === undefined),
    ({ runId }) => runId,
  );
  const inside = Map.groupBy(sound, ({ record }) => record?.parent);
  const retained = Map.groupBy(
    all.filter(({ record }) => record?.kept === true),
    ({ runId }) => runId,
  );
  return {
    byId: (id) => byId.get(id),
    of: (runId) => byRun.get(runId) ?? [],
    kept: (runId) => retained.get(runId) ?? [],
    tops: (runId) => tops.get(runId) ?? [],
    inside: (stepId) => inside.get(stepId) ?? [],
  };
}

/** A parent is an earlier step of the same run. */
function withSoundParents(steps: readonly RecordedStep[]): RecordedStep[] {
  const depths = new Map<string, { runId: string; depth: number }>();
  return steps.map((step) => {
    const { parent: named, ...rest } = step.record ?? { began: 0 };
    const parent = named === undefined ? undefined : depths.get(named);
    const isSound = parent?.runId === step.runId && parent.depth < iteratorDepthLimit;
    depths.set(step.id, { runId: step.runId, depth: isSound ? parent.depth + 1 : 0 });
    return named === undefined || isSound ? step : { ...step, record: rest };
  });
}

/** Each run is called by one step, and the calls lead away from the root. */
function withSoundCalls(steps: readonly RecordedStep[], rootId: string): RecordedStep[] {
  const byRun = Map.groupBy(steps, ({ runId }) => runId);
  const callers = new Map<string, string | null>([[rootId, null]]);
  let runs = [rootId];
  for (let depth = 1; depth < pipelineDepthLimit && runs.length > 0; depth += 1) {
    const called: string[] = [];
    for (const { id, childId } of runs.flatMap((run) => byRun.get(run) ?? [])) {
      if (childId === null || callers.has(childId)) continue;
      callers.set(childId, id);
      called.push(childId);
    }
    runs = called;
  }
  return steps.map((step) =>
    step.childId === null || callers.get(step.childId) === step.id ? step : { ...step, childId: null },
  );
}
