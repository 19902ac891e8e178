/**
 * The walk over an orchestration, as a state machine without I/O, and the order of a transformation.
 *
 * - **edge**: a transition from a component to another, of one kind.
 * - **taken**: an edge whose component ended in the way that the edge's kind asks for.
 * - **and**: starts when each component with an edge to it has taken one; any other component starts at the
 *   first edge taken.
 * - **walk**: starts at `start`; each component runs at most once; it ends when nothing runs and nothing is
 *   ready, or early, at an `end-…` component, a failure that no transition takes up, or a transition back to
 *   a component that has run. What runs by then ends; nothing new starts. If what still runs then fails, and no
 *   transition takes the failure up, the outcome is FAILED, whatever end was reached.
 */
import { circlesOf } from './circles.ts';
import { type ComponentEnd, takenKinds } from './component-end.ts';
import type { Orchestration, OrchestrationComponent } from './pipeline.ts';

export interface WalkOutcome {
  status: 'SUCCESS' | 'FAILED';
  /** The component that decided it; absent when the walk simply came to its end. */
  component?: string;
  /** The component to which it leads back, which has run already. */
  backTo?: string;
}

export interface Walk {
  /** At most `most` components to start now; each is given out once. */
  takeReady(most?: number): OrchestrationComponent[];
  /** @throws Error when the component is not running */
  finish(component: string, end: ComponentEnd): void;
  /** Present when nothing more will start and nothing runs. */
  outcome(): WalkOutcome | undefined;
  /** Components that were never started. Final once there is an outcome. */
  unreached(): string[];
}

/**
 * Components with an edge to each component. Edges to components that are not there are left out; validation
 * reports them.
 */
export function incomingOf(orchestration: Orchestration): Map<string, Set<string>> {
  const incoming = new Map<string, Set<string>>();
  for (const component of orchestration.components.values()) {
    for (const target of Object.values(component.transitions).flat()) {
      if (!orchestration.components.has(target)) continue;
      const sources = incoming.get(target) ?? new Set();
      incoming.set(target, sources.add(component.name));
    }
  }
  return incoming;
}

export function createWalk(orchestration: Orchestration): Walk {
  const { components } = orchestration;
  const incoming = incomingOf(orchestration);
  const arrived = new Map<string, Set<string>>();
  const started = new Set<string>();
  const running = new Set<string>();
  let ready: OrchestrationComponent[] = [];
  let decided: WalkOutcome | undefined;

  /** The first outcome counts, but a failure counts more than any success: it may come while another branch has reached its end. */
  function decide(outcome: WalkOutcome): void {
    if (decided === undefined || (decided.status === 'SUCCESS' && outcome.status === 'FAILED'))
      decided = outcome;
  }

  function start(component: OrchestrationComponent): void {
    started.add(component.name);
    ready.push(component);
  }

  function take(from: string, to: string): void {
    const target = components.get(to);
    if (target === undefined || started.has(to)) return;
    const sources = (arrived.get(to) ?? new Set<string>()).add(from);
    arrived.set(to, sources);
    if (target.type !== 'and' || sources.size === incoming.get(to)?.size) start(target);
  }

  for (const component of components.values()) {
    if (component.type === 'start') start(component);
  }

  const circles = circlesOf(orchestration);
  /** Whether a transition leads back to a component that has run, and so cannot be taken. */
  const leadsBack = (from: string, to: string) =>
    started.has(to) && circles.some(({ members }) => members.has(from) && members.has(to));

  return {
    takeReady(most = ready.length) {
      const taken = decided === undefined ? ready.slice(0, most) : [];
      ready = ready.slice(taken.length);
      for (const component of taken) running.add(component.name);
      return taken;
    },
    finish(name, end) {
      const component = components.get(name);
      if (component === undefined || !running.delete(name))
        throw new Error(`the component "${name}" is not running`);
      const targets = takenKinds[end].flatMap((kind) => component.transitions[kind]);
      if (end !== 'SKIPPED' && (component.type === 'end-success' || component.type === 'end-failure')) {
        decide({ status: component.type === 'end-success' ? 'SUCCESS' : 'FAILED', component: name });
      } else if (end === 'FAILED' && targets.length === 0) {
        decide({ status: 'FAILED', component: name });
      }
      const backTo = targets.find((target) => leadsBack(name, target));
      if (backTo !== undefined) decide({ status: 'FAILED', component: name, backTo });
      for (const target of targets) take(name, target);
    },
    outcome() {
      if (running.size > 0 || (decided === undefined && ready.length > 0)) return undefined;
      return decided ?? { status: 'SUCCESS' };
    },
    unreached: () => {
      const waiting = decided === undefined ? [] : ready.map((component) => component.name);
      return [...components.keys()].filter((name) => !started.has(name) || waiting.includes(name));
    },
  };
}

export type TopologicalOrder =
  | { order: string[]; cycle?: undefined }
  | { order?: undefined; cycle: string[] };

/**
 * Sources before those that use them, else in the order given; or the names along a cycle, its first again at
 * the end.
 */
export function topologicalOrder(
  components: ReadonlyMap<string, { readonly sources: readonly string[] }>,
): TopologicalOrder {
  const order: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  for (const root of components.keys()) {
    // A stack of our own: a chain of 2,000 components must not depend on JavaScript's.
    const path: { name: string; next: number }[] = [];
    const enter = (name: string) => {
      state.set(name, 'open');
      path.push({ name, next: 0 });
    };
    if (!state.has(root)) enter(root);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const source = components.get(top.name)?.sources[top.next];
      top.next += 1;
      if (source === undefined) {
        state.set(top.name, 'done');
        order.push(top.name);
        path.pop();
      } else if (state.get(source) === 'open') {
        const names = path.map(({ name }) => name);
        return { cycle: [...names.slice(names.indexOf(source)), source] };
      } else if (!state.has(source) && components.has(source)) enter(source);
    }
  }
  return { order };
}
