/**
 * The variables of each component of an orchestration.
 *
 * - **branch**: what follows one of several components to which a component leads at once. It has its own copies of
 *   the COPIED variables, with the values that they had where it began.
 * - **and, or**: they end the branches that meet there. COPIED variables are again what they were where these began.
 */

import type { VariableScope } from '../expressions/variables.ts';
import type { Orchestration } from '../format/pipeline.ts';
import { findIncoming } from './graph.ts';

export interface Branches {
  /** The variables of a component that is about to run. */
  getScope(component: string): VariableScope;
  /** A component ended and leads to others. */
  pass(component: string, targets: readonly string[]): void;
}

interface Branch {
  readonly scope: VariableScope;
  /** The branch that led to it; undefined for the whole pipeline. */
  readonly parent?: Branch;
  /** With what the others begin. */
  readonly others: readonly string[];
}

export function createBranches(orchestration: Orchestration, scope: VariableScope): Branches {
  const { components } = orchestration;
  const whole: Branch = { scope, others: [] };
  const branches = new Map<string, Branch>();
  const sources = new Map<string, ReadonlySet<string>>();
  const incoming = findIncoming(orchestration);
  const getBranch = (component: string) => branches.get(component) ?? whole;

  /** The components from which transitions lead to one, and itself. */
  function findSources(target: string): ReadonlySet<string> {
    const known = sources.get(target);
    if (known !== undefined) return known;
    const found = new Set([target]);
    for (const component of found) for (const source of incoming.get(component) ?? []) found.add(source);
    sources.set(target, found);
    return found;
  }

  /** The branch around all branches that may meet in a component. */
  function leave(branch: Branch, target: string): Branch {
    let around = branch;
    for (let inner = branch; inner.parent !== undefined; inner = inner.parent)
      if (inner.others.some((other) => findSources(target).has(other))) around = inner.parent;
    return around;
  }

  return {
    getScope: (component) => getBranch(component).scope,
    pass(component, targets) {
      const parent = getBranch(component);
      const led = targets.filter((target) => components.has(target));
      for (const target of led) {
        if (branches.has(target)) continue;
        const others = led.filter((other) => other !== target);
        const branch = others.length === 0 ? parent : { scope: parent.scope.branch(), parent, others };
        const meets = ['and', 'or'].includes(components.get(target)?.type ?? '');
        branches.set(target, meets ? leave(branch, target) : branch);
      }
    },
  };
}
