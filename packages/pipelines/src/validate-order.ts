/** The order in which an orchestration's components come: circles, and joins that can never start. */
import { type Circle, circlesOf, wayRound } from './circles.ts';
import { type ComponentEnd, endsOf, takenKinds } from './component-end.ts';
import type { Report } from './finding.ts';
import { incomingOf } from './graph.ts';
import type { Orchestration, OrchestrationComponent } from './pipeline.ts';
import { passedComponents } from './reach.ts';

export function checkOrder(orchestration: Orchestration, report: Report): void {
  const circles = circlesOf(orchestration);
  for (const circle of circles) checkCircle(circle, orchestration, report);
  const passed = passedComponents(orchestration);
  const waiting = neverMeeting(orchestration, passed, circles);
  for (const [name, sources] of incomingOf(orchestration)) {
    const component = orchestration.components.get(name);
    if (component?.type !== 'and' || component.skipped || !passed.has(name)) continue;
    const reason = whyNeverStarts(name, sources, passed, circles) ?? waiting.get(name);
    if (reason === undefined) continue;
    const message = `it never starts, since ${reason}: take that transition out, or use an or`;
    report({ component: name, code: 'unstartable-and', message, level: 'error' });
  }
}

function checkCircle(circle: Circle, orchestration: Orchestration, report: Report): void {
  const round = wayRound(circle, orchestration).join(' → ');
  const [component = ''] = circle.members;
  const [message, level] = circle.hasWayOut
    ? ([
        `the transitions go round in a circle: ${round}; a component runs once, so a run that comes back to one fails: use an iterator to repeat`,
        'warning',
      ] as const)
    : ([
        `the transitions go round in a circle without an end: ${round}; a component runs once: take the transition back out, or use an iterator to repeat`,
        'error',
      ] as const);
  report({ component, at: ['transitions'], code: 'transition-cycle', message, level, passing: true });
}

function whyNeverStarts(
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
 * Ends of a component, as bits: success, failure, true, false. For a component the ends of others that lead
 * to it; one that is not named may have ended in any way.
 */
type Conditions = ReadonlyMap<string, number>;
const bits = { SUCCESS: 1, FAILED: 2, TRUE: 4, FALSE: 8, SKIPPED: 16 } as const;
const anyEnd = 31;
/** Conditions that are followed through one component; a pipeline that has more is checked for fewer. */
const conditionLimit = 64;

/** By the name of each `and` that waits for branches of which only one is ever taken: the reason. */
function neverMeeting(
  orchestration: Orchestration,
  passed: ReadonlySet<string>,
  circles: readonly Circle[],
): Map<string, string> {
  const reasons = new Map<string, string>();
  if (circles.length > 0) return reasons;
  const { components } = orchestration;
  const incoming = incomingOf(orchestration);
  const conditions = new Map<string, Conditions>();
  const leading = createLeadingEnds();
  const left = new Map([...passed].map((name) => [name, sourcesOf(name).length]));
  function sourcesOf(name: string): string[] {
    return [...(incoming.get(name) ?? [])].filter((source) => passed.has(source));
  }
  const open = [...passed].filter((name) => left.get(name) === 0);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const component = components.get(name);
    if (component === undefined) continue;
    const before = sourcesOf(name).map((source) =>
      along(components.get(source), name ?? '', conditions, leading),
    );
    const isAnd = component.type === 'and';
    const met = isAnd ? both(before) : either(before, components);
    const [excluded] = [...met].find(([, ends]) => ends === 0) ?? [];
    if (excluded !== undefined) {
      reasons.set(name, `it waits for branches of "${excluded}" of which only one is taken`);
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

/** What holds when a transition from a component to a target is taken. */
function along(
  source: OrchestrationComponent | undefined,
  target: string,
  conditions: ReadonlyMap<string, Conditions>,
  leading: LeadingEnds,
): Conditions {
  if (source === undefined) return new Map();
  const before = conditions.get(source.name) ?? new Map<string, number>();
  if (source.skipped || before.size >= conditionLimit) return before;
  const ends = leading(source).get(target) ?? 0;
  return ends !== 0 && ends === bitsOf(endsOf(source)) ? before : new Map(before).set(source.name, ends);
}

type LeadingEnds = (source: OrchestrationComponent) => ReadonlyMap<string, number>;

/** The ends of a component that lead to each of its targets, gathered once: a component may have as many targets as there are components. */
function createLeadingEnds(): LeadingEnds {
  const gathered = new Map<string, Map<string, number>>();
  return (source) => {
    const known = gathered.get(source.name);
    if (known !== undefined) return known;
    const ends = new Map<string, number>();
    for (const end of endsOf(source))
      for (const target of takenKinds[end].flatMap((kind) => source.transitions[kind]))
        ends.set(target, (ends.get(target) ?? 0) | bits[end]);
    gathered.set(source.name, ends);
    return ends;
  };
}

function bitsOf(ends: readonly ComponentEnd[]): number {
  return ends.reduce((all, end) => all | bits[end], 0);
}

function both(all: readonly Conditions[]): Map<string, number> {
  const met = new Map<string, number>();
  for (const conditions of all)
    for (const [name, ends] of conditions) met.set(name, (met.get(name) ?? anyEnd) & ends);
  return met;
}

function either(
  [first, ...others]: readonly Conditions[],
  components: Orchestration['components'],
): Map<string, number> {
  const met = new Map<string, number>();
  for (const [name, ends] of first ?? []) {
    const merged = others.reduce((merging, each) => merging | (each.get(name) ?? anyEnd), ends);
    const component = components.get(name);
    const every = component === undefined ? anyEnd : bitsOf(endsOf(component));
    if ((merged & every) !== every) met.set(name, merged);
  }
  return met;
}
