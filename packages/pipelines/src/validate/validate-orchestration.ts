/** Checks the walk of an orchestration: start, transitions and iterators. */

import { findDefinition } from '../components/registry.ts';
import { listTakenKinds } from '../format/component-end.ts';
import type { Suggestions } from '../format/nearest.ts';
import type { Orchestration, OrchestrationComponent } from '../format/pipeline.ts';
import { canIterate, createCertainty, findPassed, findReach } from '../plan/reach.ts';
import type { Notes, Report } from './finding.ts';
import { checkCall, checkSharedCalls } from './validate-calls.ts';
import { checkCondition } from './validate-conditions.ts';
import { checkOrder } from './validate-order.ts';
import { checkNamedVariables, checkOwnExpressions, listIterationVariables } from './validate-variables.ts';

export function checkOrchestration(orchestration: Orchestration, notes: Notes, suggest: Suggestions): void {
  const { report } = notes;
  checkStarts(orchestration, report);
  const targets = findIterationTargets(orchestration);
  const passed = findPassed(orchestration);
  const isCertain = createCertainty(orchestration);
  for (const component of orchestration.components.values()) {
    checkTransitions(component, orchestration, report, suggest);
    if (targets.has(component.name) && !passed.has(component.name))
      checkTransitionsOfTarget(component, targets.get(component.name) ?? '', report);
    checkIterator(component, orchestration, report, suggest);
    checkNamedVariables(component, orchestration, notes);
    checkOwnExpressions(component, orchestration, notes);
    checkCondition(component, orchestration, report);
    checkCall(component, isCertain, notes);
  }
  checkIterationCycles(orchestration, report);
  checkOrder(orchestration, report);
  checkSharedCalls(orchestration, report);
  checkReachable(orchestration, report);
}

function checkStarts(orchestration: Orchestration, report: Report): void {
  const starts = [...orchestration.components.values()].filter(({ type }) => type === 'start');
  const at = ['pipeline', 'components'];
  if (starts.length === 0) {
    const message = 'the orchestration has no component of type start: add one';
    report({ at, code: 'missing-start', message, level: 'error' });
  }
  if (starts.length > 1) {
    const names = starts.map(({ name }) => `"${name}"`).join(', ');
    const message = `the orchestration has ${starts.length} components of type start (${names}): keep one`;
    report({ at, code: 'several-starts', message, level: 'error' });
  }
}

function checkTransitions(
  component: OrchestrationComponent,
  { components }: Orchestration,
  report: Report,
  suggest: Suggestions,
): void {
  const { name, type, skipped } = component;
  const taken = new Set<string>(listTakenKinds(component));
  for (const [kind, targets] of Object.entries(component.transitions)) {
    const place = { component: name, at: ['transitions', kind], passing: true };
    if (targets.length > 0 && !taken.has(kind) && !skipped)
      report({
        ...place,
        code: 'transition-not-allowed',
        message: describeNeverTaken(kind, type),
        level: 'error',
      });
    for (const target of targets.filter((each) => !components.has(each))) {
      const remedy = suggest(
        target,
        () => components.keys(),
        'name another component or remove the transition',
      );
      const message = `the transition "${kind}" leads to "${target}", which is not a component of this pipeline: ${remedy}`;
      const level = taken.has(kind) ? 'error' : 'warning';
      report({ ...place, code: 'dangling-transition', message, level });
    }
  }
}

function describeNeverTaken(kind: string, type: string): string {
  if (kind === 'true' || kind === 'false')
    return `${type} has no transition "${kind}", only an if has: use success, failure or unconditional`;
  return `nothing runs after ${type}, so its transition "${kind}" is never taken: remove the transition or the ${type}`;
}

/** The targets of iterators, each with the name of its iterator. */
function findIterationTargets({ components }: Orchestration): Map<string, string> {
  const targets = new Map<string, string>();
  for (const { name, type, iterationTarget } of components.values())
    if (iterationTarget !== undefined && canIterate(type)) targets.set(iterationTarget, name);
  return targets;
}

function checkTransitionsOfTarget(component: OrchestrationComponent, iterator: string, report: Report): void {
  for (const [kind, targets] of Object.entries(component.transitions)) {
    if (targets.length === 0) continue;
    const message = `the iterator "${iterator}" runs this component, so its transition "${kind}" is never taken: add the transition to the iterator instead`;
    report({
      component: component.name,
      at: ['transitions', kind],
      code: 'transition-not-allowed',
      message,
      level: 'error',
    });
  }
}

function checkIterator(
  component: OrchestrationComponent,
  orchestration: Orchestration,
  report: Report,
  suggest: Suggestions,
): void {
  const { name, type, iterationTarget: target } = component;
  const definition = findDefinition(type);
  if (definition?.kind !== 'orchestration') return;
  const at = ['iterationTarget'];
  if (definition.iterates !== true) {
    if (target === undefined) return;
    const message = `${type} is not an iterator and does not run the iterationTarget "${target}": use a transition instead`;
    report({ component: name, at, code: 'iteration-target-not-allowed', message, level: 'error' });
    return;
  }
  if (target === undefined) {
    const message =
      'the iterator has no iterationTarget: name the component to run in it, beside type and parameters';
    report({ component: name, at, code: 'missing-iteration-target', message, level: 'error' });
  } else if (!orchestration.components.has(target)) {
    const remedy = suggest(target, () => orchestration.components.keys(), 'name the component to run');
    const message = `the iterationTarget "${target}" is not a component of this pipeline: ${remedy}`;
    report({ component: name, at, code: 'missing-iteration-target', message, level: 'error' });
  } else checkIterated(name, target, orchestration, report);
  if (component.parameters.concurrency !== 'Concurrent') return;
  for (const variable of listIterationVariables(component)) {
    if (orchestration.variables.get(variable)?.behaviour !== 'SHARED') continue;
    const message = `concurrent iterations overwrite the SHARED variable "${variable}": make it COPIED`;
    report({ component: name, code: 'shared-iterator-variable', message, level: 'error' });
  }
}

/** An end ends nothing when an iterator runs it, and the others only pass on. */
const idleTargets = new Set(['start', 'and', 'or', 'end-success', 'end-failure']);

function checkIterated(name: string, target: string, { components }: Orchestration, report: Report): void {
  const { type = '', skipped = false } = components.get(target) ?? {};
  if (skipped || !idleTargets.has(type)) return;
  const message = `its iterationTarget "${target}" is of type ${type}, which does nothing when an iterator runs it: name the component to run`;
  const at = ['iterationTarget'];
  report({ component: name, at, code: 'iteration-target-not-allowed', message, level: 'error' });
}

/**
 * Reports each cycle of iterators once. An iterator has one target, so following targets finds every cycle.
 */
function checkIterationCycles({ components }: Orchestration, report: Report): void {
  const followed = new Set<string>();
  for (const first of components.keys()) {
    const chain = new Set<string>();
    let name: string | undefined = first;
    while (name !== undefined && !chain.has(name) && !followed.has(name)) {
      chain.add(name);
      const component: OrchestrationComponent | undefined = components.get(name);
      const follows = component !== undefined && !component.skipped && canIterate(component.type);
      name = follows ? component.iterationTarget : undefined;
    }
    if (name !== undefined && chain.has(name)) {
      const names = [...chain];
      const circle = [...names.slice(names.indexOf(name)), name].join(' → ');
      const message = `the iterators form a cycle: ${circle}: name another component`;
      report({ component: name, at: ['iterationTarget'], code: 'iteration-cycle', message, level: 'error' });
    }
    for (const each of chain) followed.add(each);
  }
}

function checkReachable(orchestration: Orchestration, report: Report): void {
  if (![...orchestration.components.values()].some(({ type }) => type === 'start')) return;
  const { passed, runs } = findReach(orchestration);
  for (const component of orchestration.components.keys()) {
    if (passed.has(component) || runs.has(component)) continue;
    const message = 'the component never runs, because no transition leads to it: connect or remove it';
    report({ component, code: 'unreachable-component', message, level: 'warning' });
  }
}
