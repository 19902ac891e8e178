/**
 * The walk over an orchestration, as a state machine without I/O, and the order of a transformation.
 *
 * - **edge**: a transition of one kind from a component to another.
 * - **taken**: an edge whose kind matches the way its component ended.
 * - **and**: starts after every component with an edge to it has taken one. Any other component starts at the
 *   first edge taken.
 * - **walk**: starts at `start`. Each component runs at most once. The walk ends when nothing runs and
 *   nothing is ready. It ends early at an `end-…` component, at a failure without a transition to handle it,
 *   or at a transition back to a component that already ran. Running components then finish and nothing new
 *   starts. If one of them fails without a transition to handle it, the outcome is FAILED, even after
 *   `end-success`.
 */

import { type ComponentEnd, takenKinds } from '../format/component-end.ts';
import type { Orchestration, OrchestrationComponent } from '../format/pipeline.ts';
import { findCircles } from './circles.ts';

export interface WalkOutcome {
  status: 'SUCCESS' | 'FAILED';
  /** The component that decided the outcome; absent if the walk ended because nothing was left to run. */
  component?: string;
  /** The component, already run, to which a transition leads back. */
  backTo?: string;
}

export interface Walk {
  /** At most `most` components to start now. Each component is returned once. */
  takeReady(most?: number): OrchestrationComponent[];
  /** @throws Error if the component is not running */
  finish(component: string, end: ComponentEnd): void;
  /** Present once nothing runs and nothing more will start. */
  outcome(): WalkOutcome | undefined;
  /** Components that were not started. Final once there is an outcome. */
  unreached(): string[];
}

/**
 * The sources of the edges to each component. Edges to unknown components are ignored; validation reports
 * them.
 */
export function findIncoming(orchestration: Orchestration): Map<string, Set<string>> {
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
  const incoming = findIncoming(orchestration);
  const arrived = new Map<string, Set<string>>();
  const started = new Set<string>();
  const running = new Set<string>();
  let ready: OrchestrationComponent[] = [];
  let decided: WalkOutcome | undefined;

  /**
   * The first outcome wins, except that a failure replaces a success: a branch may fail after another ended.
   */
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

  const circles = findCircles(orchestration);
  /** Whether a transition leads back to a component that already ran, so that it cannot be taken. */
  const isTransitionBack = (from: string, to: string) =>
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
      const backTo = targets.find((target) => isTransitionBack(name, target));
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
 * Sorts sources before the components that use them, and otherwise keeps the given order. If there is a
 * cycle, returns its names, with the first repeated at the end.
 */
export function sortTopologically(
  components: ReadonlyMap<string, { readonly sources: readonly string[] }>,
): TopologicalOrder {
  const order: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  for (const root of components.keys()) {
    // It keeps its own stack: 2,000 chained components could overflow JavaScript's.
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
