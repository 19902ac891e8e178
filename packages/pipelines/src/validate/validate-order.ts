/** Checks the order of an orchestration's components: cycles, and `and`s that can never start. */

import { type ComponentEnd, listEnds, takenKinds } from '../format/component-end.ts';
import type { Orchestration, OrchestrationComponent } from '../format/pipeline.ts';
import { type Circle, findCircles, findWayRound } from '../plan/circles.ts';
import { findIncoming } from '../plan/graph.ts';
import { findPassed } from '../plan/reach.ts';
import type { Report } from './finding.ts';

export function checkOrder(orchestration: Orchestration, report: Report): void {
  const circles = findCircles(orchestration);
  for (const circle of circles) checkCircle(circle, orchestration, report);
  const passed = findPassed(orchestration);
  const waiting = findExclusiveJoins(orchestration, passed, circles);
  for (const [name, sources] of findIncoming(orchestration)) {
    const component = orchestration.components.get(name);
    if (component?.type !== 'and' || component.skipped || !passed.has(name)) continue;
    const reason = explainNeverStarting(name, sources, passed, circles) ?? waiting.get(name);
    if (reason === undefined) continue;
    const message = `the and never starts, because ${reason}: remove that transition or use an or`;
    report({ component: name, code: 'unstartable-and', message, level: 'error' });
  }
}

function checkCircle(circle: Circle, orchestration: Orchestration, report: Report): void {
  const round = findWayRound(circle, orchestration).join(' → ');
  const [component = ''] = circle.members;
  const [message, level] = circle.hasWayOut
    ? ([
        `the transitions form a cycle: ${round}; a component runs once, so a run that returns to one fails: use an iterator to repeat`,
        'warning',
      ] as const)
    : ([
        `the transitions form an endless cycle: ${round}; a component runs once: remove the transition back, or use an iterator to repeat`,
        'error',
      ] as const);
  report({ component, at: ['transitions'], code: 'transition-cycle', message, level, passing: true });
}

function explainNeverStarting(
  name: string,
  sources: ReadonlySet<string>,
  passed: ReadonlySet<string>,
  circles: readonly Circle[],
): string | undefined {
  const circle = circles.find(({ members }) => members.has(name));
  for (const source of sources) {
    if (!passed.has(source)) return `it waits for "${source}", which never runs`;
    if (circle?.members.has(source) === true) return `it waits for "${source}", which comes after it`;
  }
  return undefined;
}

/**
 * For one component: the ends of earlier components, as bits, under which it is reached. An earlier component
 * that is not listed may have ended in any way.
 */
type Conditions = ReadonlyMap<string, number>;
const bits = { SUCCESS: 1, FAILED: 2, TRUE: 4, FALSE: 8, SKIPPED: 16 } as const;
const anyEnd = 31;
/** Conditions tracked for one component. Beyond the limit some joins are not checked. */
const conditionLimit = 64;

/** Finds each `and` that waits for mutually exclusive branches. Returns the reason by name. */
function findExclusiveJoins(
  orchestration: Orchestration,
  passed: ReadonlySet<string>,
  circles: readonly Circle[],
): Map<string, string> {
  const reasons = new Map<string, string>();
  if (circles.length > 0) return reasons;
  const { components } = orchestration;
  const incoming = findIncoming(orchestration);
  const conditions = new Map<string, Conditions>();
  const leading = createLeadingEnds();
  const left = new Map([...passed].map((name) => [name, listSources(name).length]));
  function listSources(name: string): string[] {
    return [...(incoming.get(name) ?? [])].filter((source) => passed.has(source));
  }
  const open = [...passed].filter((name) => left.get(name) === 0);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const component = components.get(name);
    if (component === undefined) continue;
    const before = listSources(name).map((source) =>
      addEnds(components.get(source), name ?? '', conditions, leading),
    );
    const isAnd = component.type === 'and';
    const met = isAnd ? mergeAll(before) : mergeAny(before, components);
    const [excluded] = [...met].find(([, ends]) => ends === 0) ?? [];
    if (excluded !== undefined) {
      reasons.set(name, `it waits for several branches of "${excluded}", but only one of them is taken`);
      met.clear();
    }
    conditions.set(name, met);
    for (const target of new Set(Object.values(component.transitions).flat())) {
      const more = (left.get(target) ?? 0) - 1;
      left.set(target, more);
      if (more === 0 && passed.has(target)) open.push(target);
    }
  }
  return reasons;
}

/** The conditions under which a transition from a component to a target is taken. */
function addEnds(
  source: OrchestrationComponent | undefined,
  target: string,
  conditions: ReadonlyMap<string, Conditions>,
  leading: LeadingEnds,
): Conditions {
  if (source === undefined) return new Map();
  const before = conditions.get(source.name) ?? new Map<string, number>();
  if (source.skipped || before.size >= conditionLimit) return before;
  const ends = leading(source).get(target) ?? 0;
  return ends !== 0 && ends === toBits(listEnds(source)) ? before : new Map(before).set(source.name, ends);
}

type LeadingEnds = (source: OrchestrationComponent) => ReadonlyMap<string, number>;

/**
 * The ends of a component that lead to each of its targets. Cached, since a component may have many targets.
 */
function createLeadingEnds(): LeadingEnds {
  const gathered = new Map<string, Map<string, number>>();
  return (source) => {
    const known = gathered.get(source.name);
    if (known !== undefined) return known;
    const ends = new Map<string, number>();
    for (const end of listEnds(source))
      for (const target of takenKinds[end].flatMap((kind) => source.transitions[kind]))
        ends.set(target, (ends.get(target) ?? 0) | bits[end]);
    gathered.set(source.name, ends);
    return ends;
  };
}

function toBits(ends: readonly ComponentEnd[]): number {
  return ends.reduce((all, end) => all | bits[end], 0);
}

function mergeAll(all: readonly Conditions[]): Map<string, number> {
  const met = new Map<string, number>();
  for (const conditions of all)
    for (const [name, ends] of conditions) met.set(name, (met.get(name) ?? anyEnd) & ends);
  return met;
}

function mergeAny(
  [first, ...others]: readonly Conditions[],
  components: Orchestration['components'],
): Map<string, number> {
  const met = new Map<string, number>();
  for (const [name, ends] of first ?? []) {
    const merged = others.reduce((merging, each) => merging | (each.get(name) ?? anyEnd), ends);
    const component = components.get(name);
    const every = component === undefined ? anyEnd : toBits(listEnds(component));
    if ((merged & every) !== every) met.set(name, merged);
  }
  return met;
}
