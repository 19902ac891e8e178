/**
 * The plan of a restart, computed from what the steps of the ended execution recorded. Pure functions. The
 * contract's run-restart.ts has the terminology; and:
 *
 * - **top**: a step of a run that no iterator runs. Of several attempts of a component the last one counts.
 * - **base**: the plan of the ended execution, if it was a restart itself. What it kept stays kept.
 */
import { nearestName, type RestartPlan } from '@headgate/contract';
import { listRepeated, type Repeated } from './restart-effects.ts';
import { planOpenComponents } from './restart-open.ts';
import {
  createKeptTest,
  createSteps,
  type EndedExecution,
  type PlannedRun,
  type Planning,
  type RecordedStep,
} from './restart-steps.ts';
import { foldVariables } from './restart-variables.ts';

/** `reason`: why there is no plan. `unknown`: `from` is no component that ran. */
export type PlanFault = { reason: string } | { unknown: string; nearest: string | undefined };
export type Planned = { plan: RestartPlan; repeated: readonly Repeated[] } | PlanFault;

/** @param from undefined: the steps that failed or did not end */
export function planRestart(execution: EndedExecution, from: string | undefined): Planned {
  if (execution.steps.some((step) => step.record === null && step.status !== 'SKIPPED'))
    return { reason: 'the agent that ran it is of an earlier version, which keeps nothing for a restart' };
  const steps = createSteps(execution.steps, execution.id);
  const planning: Planning = {
    execution,
    steps,
    runs: [],
    dropped: [],
    planCalled: (runId, baseIndex) => {
      const planned = planRun(planning, runId, baseIndex, undefined);
      if ('lost' in planned) {
        const before = baseIndex === undefined ? undefined : execution.base?.runs[baseIndex];
        planning.dropped.push(...(before?.open ?? []).map(({ component }) => component));
        return undefined;
      }
      const run = planning.runs[planned.index];
      if (run !== undefined && run.kept.length + run.open.length > 0) return planned;
      planning.runs.length = planned.index;
      return undefined;
    },
  };
  if (from !== undefined && !steps.tops(execution.id).some(({ name }) => name === from)) {
    const names = steps.tops(execution.id).map(({ name }) => name);
    return { unknown: from, nearest: nearestName(from, names) };
  }
  const root = planRun(planning, execution.id, 0, from);
  if ('lost' in root)
    return {
      reason: `the value of the variable ${JSON.stringify(root.lost.name)} at that place is not kept, because it ${lostReasons[root.lost.why]}: start the pipeline again`,
    };
  const isLost = execution.isLost || hasGap(execution.steps);
  const repeated = listRepeated({ ...execution, isLost }, steps, root.kept, planning.dropped);
  const plan: RestartPlan = {
    restartOf: execution.id,
    projectVariables: execution.base?.projectVariables ?? execution.projectVariables,
    runs: planning.runs,
    ...(repeated.length === 0 ? {} : { repeats: repeated.map(({ component }) => component) }),
  };
  return { plan, repeated };
}

/** Whether an end is missing, because a report of the agent was refused. */
function hasGap(steps: readonly RecordedStep[]): boolean {
  const ends = new Set(steps.flatMap(({ record }) => record?.ended ?? []));
  return ends.size > 0 && Math.max(...ends) !== ends.size;
}

const lostReasons = {
  secret: 'contains a secret',
  size: 'is too large',
  text: 'has characters that cannot be stored',
  branch:
    'is one of several: the variable is COPIED and was set in one of the branches that ran at the same time',
} as const;

type LostVariable = { name: string; why: keyof typeof lostReasons };

function planRun(
  planning: Planning,
  runId: string | undefined,
  baseIndex: number | undefined,
  from: string | undefined,
): PlannedRun | { lost: LostVariable } {
  const { execution, steps, runs } = planning;
  const base = baseIndex === undefined ? undefined : execution.base?.runs[baseIndex];
  const index = runs.length;
  // Its place: the runs of what it calls come after it.
  runs.push({ variables: [], kept: [], open: [] });
  const tops = runId === undefined ? [] : steps.tops(runId);
  const keptTops = from === undefined ? findEnded(tops) : findEndedBefore(tops, from);
  const components = new Map((base?.kept ?? []).map((each) => [each.component, each]));
  for (const { name, end, next } of keptTops) components.set(name, { component: name, end, next: [...next] });
  for (const name of findUndone(tops, components)) components.delete(name);
  planning.dropped.push(...listUnreported(planning, runId, base?.kept ?? [], components));
  const kept = new Set(keptTops.filter(({ name }) => components.has(name)).map(({ id }) => id));
  const left = tops.filter(({ name }) => !components.has(name));
  // What began after `from` starts as it did then: from its beginning, or from where the base was.
  const reached = from === undefined ? left : [];
  const open = planOpenComponents(planning, reached, base?.open ?? [], components);
  for (const each of open) for (const id of each.keptIds) kept.add(id);
  for (const id of listStillKept(planning, runId, components, from)) kept.add(id);
  const own = runId === undefined ? [] : steps.of(runId).filter(createKeptTest(steps, kept));
  const calledWith = execution.calledWith.get(runId ?? '') ?? [];
  const variables = foldVariables([...calledWith, ...(base?.variables ?? [])], own);
  const lost = variables.find((each) => each.lost !== undefined);
  if (lost?.lost !== undefined) {
    runs.length = index;
    return { lost: { name: lost.name, why: lost.lost } };
  }
  runs[index] = { variables, kept: [...components.values()], open: open.map(({ node }) => node) };
  return { index, kept };
}

/** What the base kept and the plan does not. What the agent reported as kept is judged by its type instead. */
function listUnreported(
  { steps }: Planning,
  runId: string | undefined,
  before: readonly { component: string }[],
  components: ReadonlyMap<string, unknown>,
): string[] {
  const reported = new Set((runId === undefined ? [] : steps.kept(runId)).map(({ name }) => name));
  return before
    .map(({ component }) => component)
    .filter((name) => !components.has(name) && !reported.has(name));
}

/** The steps that the base kept, and that stay kept. With `from`, each call continues where the base was. */
function listStillKept(
  { execution, steps }: Planning,
  runId: string | undefined,
  components: ReadonlyMap<string, unknown>,
  from: string | undefined,
): string[] {
  const own = runId === undefined ? [] : steps.kept(runId).filter(({ name }) => components.has(name));
  const called = execution.steps.filter((step) => step.runId !== runId && step.record?.kept === true);
  return [...own, ...(from === undefined ? [] : called)].map(({ id }) => id);
}

interface KeptTop {
  id: string;
  name: string;
  end: 'SUCCESS' | 'FAILED' | 'SKIPPED' | 'TRUE' | 'FALSE';
  next: readonly string[];
}

/** They decide how the run ends, and change nothing. */
const ends: readonly string[] = ['end-success', 'end-failure'];

/** The component's end, if the walk goes on after it. A failure goes on if a transition follows it. */
function readKept({ id, name, type, status, record }: RecordedStep): KeptTop | undefined {
  if (record?.ended === undefined || record.next === undefined || ends.includes(type)) return undefined;
  const { next, branch } = record;
  if (status === 'FAILED') return next.length === 0 ? undefined : { id, name, end: 'FAILED', next };
  if (status === 'SKIPPED') return { id, name, end: 'SKIPPED', next };
  if (status !== 'SUCCESS') return undefined;
  const end = branch === undefined ? 'SUCCESS' : branch ? 'TRUE' : 'FALSE';
  return { id, name, end, next };
}

function findEnded(tops: readonly RecordedStep[]): KeptTop[] {
  const last = new Map(tops.map((step) => [step.name, step]));
  return [...last.values()].flatMap((step) => readKept(step) ?? []);
}

/** The failures that led to an `end-failure`, and what followed them: they have to run again. */
function findUndone(
  tops: readonly RecordedStep[],
  retained: ReadonlyMap<string, { component: string; next: readonly string[]; end: string }>,
): Set<string> {
  const leads = new Map([...retained].map(([name, { next }]) => [name, next]));
  const failures = tops.filter(({ type, record }) => type === 'end-failure' && record?.ended !== undefined);
  const before = findReaching(
    failures.map(({ name }) => name),
    leads,
  );
  const causes = [...retained.values()].filter((each) => each.end === 'FAILED' && before.has(each.component));
  return findReached(
    causes.map(({ component }) => component),
    leads,
  );
}

/** The steps that had ended when the component began for the first time. */
function findEndedBefore(tops: readonly RecordedStep[], from: string): KeptTop[] {
  const began = tops.find(({ name }) => name === from)?.record?.began ?? 0;
  return tops
    .filter(({ name, record }) => name !== from && record?.ended !== undefined && record.ended <= began)
    .flatMap((step) => readKept(step) ?? []);
}

function findReached(names: readonly string[], leads: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set(names);
  for (const name of reached) for (const next of leads.get(name) ?? []) reached.add(next);
  return reached;
}

function findReaching(names: readonly string[], leads: ReadonlyMap<string, readonly string[]>): Set<string> {
  const sources = new Map<string, string[]>();
  for (const [name, nexts] of leads)
    for (const next of nexts) sources.set(next, [...(sources.get(next) ?? []), name]);
  return findReached(names, sources);
}
