/**
 * Determines which components of a pipeline can run.
 *
 * - **passed**: the walk of an orchestration can reach the component and continues by its transitions.
 * - **runs**: the component can run: it is passed, or it is the target of an iterator that runs, and it is
 *   not skipped. In a transformation: its rows lead to an output.
 */

import { findDefinition } from '../components/registry.ts';
import { certainCallLimit } from '../format/bounds.ts';
import { listEnds, listTakenKinds, takenKinds } from '../format/component-end.ts';
import type {
  Orchestration,
  OrchestrationComponent,
  Pipeline,
  Transformation,
  TransformationComponent,
} from '../format/pipeline.ts';

export interface Reach {
  readonly passed: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
}

export function findReach(pipeline: Pipeline): Reach {
  if (pipeline.type === 'orchestration') return findReachOfOrchestration(pipeline);
  const needed = findNeeded(pipeline);
  return { passed: needed, runs: needed };
}

/** The components that its transitions can lead to. */
export function listNext(component: OrchestrationComponent): string[] {
  return listTakenKinds(component).flatMap((kind) => component.transitions[kind]);
}

/** `without`: a component that the walk must not pass. */
export function findPassed(orchestration: Orchestration, without?: string): Set<string> {
  const { components } = orchestration;
  const passed = new Set<string>();
  const open = [...components.values()].filter(({ type }) => type === 'start');
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (passed.has(component.name) || component.name === without) continue;
    passed.add(component.name);
    for (const name of listNext(component)) {
      const next = components.get(name);
      if (next !== undefined && !passed.has(name)) open.push(next);
    }
  }
  return passed;
}

/** Whether the type runs an iterationTarget. An unknown type might. */
export function canIterate(type: string): boolean {
  const definition = findDefinition(type);
  return definition === undefined || (definition.kind === 'orchestration' && definition.iterates === true);
}

function findReachOfOrchestration(orchestration: Orchestration): Reach {
  const { components } = orchestration;
  const passed = findPassed(orchestration);
  const runs = new Set<string>();
  const open = [...passed];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const component = components.get(name);
    if (component === undefined || component.skipped || runs.has(name)) continue;
    runs.add(name);
    if (component.iterationTarget !== undefined && canIterate(component.type))
      open.push(component.iterationTarget);
  }
  return { passed, runs };
}

/**
 * The outputs and the components that lead to them, or all components if there is no output. Components of
 * unknown types count as outputs.
 */
export function findNeeded({ components }: Transformation): Set<string> {
  const needed = new Set<string>();
  const open = [...components.values()].filter(isOutput);
  if (open.length === 0) return new Set(components.keys());
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (needed.has(component.name)) continue;
    needed.add(component.name);
    open.push(...component.sources.map((name) => components.get(name)).filter((each) => each !== undefined));
  }
  return needed;
}

/** The last components of a transformation without an output: their rows are computed and dropped. */
export function findUnwritten({ components }: Transformation): Set<string> {
  if ([...components.values()].some(isOutput)) return new Set();
  const last = new Set(components.keys());
  for (const { sources } of components.values()) for (const source of sources) last.delete(source);
  return last;
}

function isOutput({ type }: TransformationComponent): boolean {
  const definition = findDefinition(type);
  return definition?.kind !== 'transformation' || definition.output;
}

export type Certainty = (name: string) => boolean;

/**
 * Each answer walks the pipeline, so the number of walks is limited. Beyond the limit the answer is false.
 */
export function createCertainty(orchestration: Orchestration): Certainty {
  let left = certainCallLimit;
  return (name) => {
    left -= 1;
    return left >= 0 && isCertainToRun(orchestration, name);
  };
}

/**
 * Whether the component runs in every run in which no component fails, so that no `if`, iterator or earlier
 * end can prevent it.
 */
function isCertainToRun(orchestration: Orchestration, name: string): boolean {
  const { components } = orchestration;
  const followed = new Set<string>();
  const open = [...components.values()].filter(({ type }) => type === 'start');
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (followed.has(component.name)) continue;
    followed.add(component.name);
    if (component.name === name) return !component.skipped && !canEndBefore(orchestration, name);
    if (listEnds(component).length === 0) continue;
    // An `if` takes these transitions whether it is true or false.
    for (const kind of takenKinds.SUCCESS)
      for (const next of component.transitions[kind]) {
        const target = components.get(next);
        // An `and` may wait for a branch that is never taken.
        if (target !== undefined && target.type !== 'and') open.push(target);
      }
  }
  return false;
}

function canEndBefore(orchestration: Orchestration, name: string): boolean {
  const ends = [...orchestration.components.values()].filter((each) => listEnds(each).length === 0);
  if (ends.length === 0) return false;
  const passed = findPassed(orchestration, name);
  return ends.some((end) => passed.has(end.name));
}
