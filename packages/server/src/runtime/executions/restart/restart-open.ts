/** Plans the components that were under way: iterators with kept iterations, and calls of pipelines. */
import type { OpenComponent, RestartPlan } from '@headgate/contract';
import type { Planning, RecordedStep } from './restart-steps.ts';

type Resumed = Pick<OpenComponent, 'run' | 'iterations'>;
type Partial = NonNullable<OpenComponent['partial']>[number];

export interface PlannedOpen {
  node: OpenComponent;
  /** The steps that are kept of it and of what it calls. */
  keptIds: readonly string[];
}

/**
 * @param left the tops that are not kept
 * @param base the open components of the base
 */
export function planOpenComponents(
  planning: Planning,
  left: readonly RecordedStep[],
  base: readonly OpenComponent[],
  retained: ReadonlyMap<string, unknown>,
): PlannedOpen[] {
  const last = new Map(left.map((step) => [step.name, step]));
  const planned: PlannedOpen[] = [];
  for (const step of last.values()) {
    const before = base.find(({ component }) => component === step.name);
    const { resumed, kept: ids } = planStep(planning, step, before);
    const inner = planPartial(planning, step, before?.partial ?? [], resumed.iterations ?? []);
    const partial = inner.map(({ node }) => node);
    const node = { component: step.name, ...resumed, ...(partial.length === 0 ? {} : { partial }) };
    if (isWorthIt(node)) planned.push({ node, keptIds: [...ids, ...inner.flatMap((each) => each.kept)] });
  }
  for (const open of base) {
    if (last.has(open.component) || retained.has(open.component)) continue;
    planned.push({ node: { component: open.component, ...copy(planning, open) }, keptIds: [] });
  }
  return planned;
}

function isWorthIt({ run, iterations, partial }: Resumed & { partial?: readonly Partial[] }): boolean {
  return run !== undefined || (iterations ?? []).length > 0 || (partial ?? []).length > 0;
}

/** The call or the kept iterations of one step. */
function planStep(
  planning: Planning,
  step: RecordedStep,
  base: Resumed | undefined,
): { resumed: Resumed; kept: string[] } {
  if (step.childId !== null) {
    const called = planning.planCalled(step.childId, base?.run);
    return called === undefined
      ? { resumed: {}, kept: [] }
      : { resumed: { run: called.index }, kept: [...called.kept] };
  }
  if (base?.run !== undefined) return { resumed: copy(planning, base), kept: [] };
  const done = planning.steps
    .inside(step.id)
    .filter(({ status, record }) => status === 'SUCCESS' && record?.iteration !== undefined);
  const iterations = [...(base?.iterations ?? []), ...done.flatMap(({ record }) => record?.iteration ?? [])];
  return { resumed: iterations.length === 0 ? {} : { iterations }, kept: done.map(({ id }) => id) };
}

/** The iterations that were under way. Of equal ones none continues: each starts from its beginning. */
function planPartial(
  planning: Planning,
  step: RecordedStep,
  base: readonly Partial[],
  done: readonly string[],
): { node: Partial; kept: readonly string[] }[] {
  const isDone = new Set(done);
  const earlier = new Map(base.map((each) => [each.iteration, each]));
  const last = new Map<string, RecordedStep>();
  for (const inner of planning.steps.inside(step.id)) {
    const key = inner.record?.iteration;
    if (key !== undefined && !isDone.has(key)) last.set(key, inner);
  }
  const planned = [...last].flatMap(([iteration, inner]) => {
    const before = earlier.get(iteration);
    const { resumed, kept } = planStep(planning, inner, before);
    return isWorthIt(resumed) ? [{ node: { iteration, ...resumed }, kept }] : [];
  });
  const unreached = base.filter(({ iteration }) => !last.has(iteration) && !isDone.has(iteration));
  const copied = unreached.map((each) => ({
    node: { iteration: each.iteration, ...copy(planning, each) },
    kept: [],
  }));
  return [...planned, ...copied];
}

/** What the base has, with the runs that it names. */
function copy(
  planning: Planning,
  { run, iterations, ...rest }: Resumed & { partial?: Partial[] },
): Resumed & { partial?: Partial[] } {
  const partial = rest.partial?.map((each): Partial => {
    return { iteration: each.iteration, ...copy(planning, each) };
  });
  return {
    ...(run === undefined ? {} : { run: copyRun(planning, run) }),
    ...(iterations === undefined ? {} : { iterations }),
    ...(partial === undefined ? {} : { partial }),
  };
}

function copyRun(planning: Planning, index: number): number {
  const { runs, execution } = planning;
  const run = execution.base?.runs[index];
  const copied: RestartPlan['runs'][number] = { variables: [], kept: [], open: [], ...run };
  const place = runs.length;
  runs.push(copied);
  copied.open = copied.open.map((open) => ({ component: open.component, ...copy(planning, open) }));
  return place;
}
