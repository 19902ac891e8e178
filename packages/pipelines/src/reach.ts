/**
 * Which components of a pipeline can run.
 *
 * - **passed**: the walk of an orchestration can come to the component, and goes on from it by its
 *   transitions.
 * - **runs**: the component can run: it is passed, or is the target of an iterator that runs, and is not
 *   skipped. In a transformation: its rows lead to an output.
 */
import { certainCallLimit } from './bounds.ts';
import { endsOf, takenKinds, takenKindsOf } from './component-end.ts';
import { findDefinition } from './components/registry.ts';
import type {
  Orchestration,
  OrchestrationComponent,
  Pipeline,
  Transformation,
  TransformationComponent,
} from './pipeline.ts';

export interface Reach {
  readonly passed: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
}

export function reachOf(pipeline: Pipeline): Reach {
  if (pipeline.type === 'orchestration') return reachOfOrchestration(pipeline);
  const needed = neededComponents(pipeline);
  return { passed: needed, runs: needed };
}

/** The components that it can go on to. */
export function nextOf(component: OrchestrationComponent): string[] {
  return takenKindsOf(component).flatMap((kind) => component.transitions[kind]);
}

/** `without`: a component that the walk does not pass. */
export function passedComponents(orchestration: Orchestration, without?: string): Set<string> {
  const { components } = orchestration;
  const passed = new Set<string>();
  const open = [...components.values()].filter(({ type }) => type === 'start');
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (passed.has(component.name) || component.name === without) continue;
    passed.add(component.name);
    for (const name of nextOf(component)) {
      const next = components.get(name);
      if (next !== undefined && !passed.has(name)) open.push(next);
    }
  }
  return passed;
}

/** An unknown type may be that of an iterator. */
export function mayIterate(type: string): boolean {
  const definition = findDefinition(type);
  return definition === undefined || (definition.kind === 'orchestration' && definition.iterates === true);
}

function reachOfOrchestration(orchestration: Orchestration): Reach {
  const { components } = orchestration;
  const passed = passedComponents(orchestration);
  const runs = new Set<string>();
  const open = [...passed];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const component = components.get(name);
    if (component === undefined || component.skipped || runs.has(name)) continue;
    runs.add(name);
    if (component.iterationTarget !== undefined && mayIterate(component.type))
      open.push(component.iterationTarget);
  }
  return { passed, runs };
}

/** The outputs, what leads to them, and components of unknown types, which may be outputs. */
export function neededComponents({ components }: Transformation): Set<string> {
  const needed = new Set<string>();
  const isOutput = ({ type }: TransformationComponent) => {
    const definition = findDefinition(type);
    return definition?.kind !== 'transformation' || definition.output;
  };
  const open = [...components.values()].filter(isOutput);
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (needed.has(component.name)) continue;
    needed.add(component.name);
    open.push(...component.sources.map((name) => components.get(name)).filter((each) => each !== undefined));
  }
  return needed;
}

export type Certainty = (name: string) => boolean;

/** Each answer walks the pipeline, so only so many are given; the others are no. */
export function createCertainty(orchestration: Orchestration): Certainty {
  let left = certainCallLimit;
  return (name) => {
    left -= 1;
    return left >= 0 && certainlyRuns(orchestration, name);
  };
}

/**
 * Whether the component runs in every run in which no component fails: no `if`, no iterator and no end that
 * comes earlier can keep it from running.
 */
function certainlyRuns(orchestration: Orchestration, name: string): boolean {
  const { components } = orchestration;
  const followed = new Set<string>();
  const open = [...components.values()].filter(({ type }) => type === 'start');
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (followed.has(component.name)) continue;
    followed.add(component.name);
    if (component.name === name) return !component.skipped && !mayEndBefore(orchestration, name);
    if (endsOf(component).length === 0) continue;
    // An `if` takes these whether it is true or false.
    for (const kind of takenKinds.SUCCESS)
      for (const next of component.transitions[kind]) {
        const target = components.get(next);
        // A join waits for what may not come.
        if (target !== undefined && target.type !== 'and') open.push(target);
      }
  }
  return false;
}

function mayEndBefore(orchestration: Orchestration, name: string): boolean {
  const ends = [...orchestration.components.values()].filter((each) => endsOf(each).length === 0);
  if (ends.length === 0) return false;
  const passed = passedComponents(orchestration, name);
  return ends.some((end) => passed.has(end.name));
}
