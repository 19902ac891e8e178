/**
 * Cycles of transitions.
 *
 * - **circle**: a strongly connected component of the graph: each of its members can lead to each other one.
 * - **way out**: an end of a member, other than a failure, after which the walk continues only outside the
 *   circle.
 */
import { listEnds, takenKinds } from '../format/component-end.ts';
import type { Orchestration, OrchestrationComponent } from '../format/pipeline.ts';
import { findPassed, listNext } from './reach.ts';

export interface Circle {
  /** In the order of the file. */
  readonly members: ReadonlySet<string>;
  readonly hasWayOut: boolean;
}

/** The circles that the walk can reach. */
export function findCircles(orchestration: Orchestration): Circle[] {
  const { components } = orchestration;
  const passed = findPassed(orchestration);
  const next = new Map<string, string[]>();
  const before = new Map<string, string[]>([...passed].map((name) => [name, []]));
  for (const component of components.values()) {
    if (!passed.has(component.name)) continue;
    const names = [...new Set(listNext(component))].filter((name) => passed.has(name));
    next.set(component.name, names);
    for (const name of names) before.get(name)?.push(component.name);
  }
  const places = new Map([...components.keys()].map((name, place) => [name, place]));
  return findStrongComponents(next, before)
    .filter(([first = '', ...others]) => others.length > 0 || next.get(first)?.includes(first) === true)
    .map((names) => names.sort((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0)))
    .map((names) => {
      const members = new Set(names);
      const hasWayOut = names.some((name) => canLeave(components.get(name), members));
      return { members, hasWayOut };
    });
}

/** Kosaraju's algorithm. It keeps its own stacks: 2,000 chained components could overflow JavaScript's. */
function findStrongComponents(
  next: ReadonlyMap<string, readonly string[]>,
  before: ReadonlyMap<string, readonly string[]>,
): string[][] {
  const finished: string[] = [];
  const seen = new Set<string>();
  for (const root of next.keys()) {
    if (seen.has(root)) continue;
    seen.add(root);
    const path = [{ name: root, place: 0 }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const follower = next.get(top.name)?.[top.place];
      top.place += 1;
      if (follower === undefined) {
        finished.push(top.name);
        path.pop();
      } else if (!seen.has(follower)) {
        seen.add(follower);
        path.push({ name: follower, place: 0 });
      }
    }
  }
  const found: string[][] = [];
  const taken = new Set<string>();
  for (const root of finished.toReversed()) {
    const members: string[] = [];
    const open = [root];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (taken.has(name)) continue;
      taken.add(name);
      members.push(name);
      open.push(...(before.get(name) ?? []));
    }
    if (members.length > 0) found.push(members);
  }
  return found;
}

function canLeave(component: OrchestrationComponent | undefined, members: ReadonlySet<string>): boolean {
  if (component === undefined) return false;
  const ends = listEnds(component).filter((end) => end !== 'FAILED');
  return ends.some((end) =>
    takenKinds[end].every((kind) => component.transitions[kind].every((target) => !members.has(target))),
  );
}

/** The shortest path from a circle's first member back to it. */
export function findWayRound({ members }: Circle, { components }: Orchestration): string[] {
  const [first = ''] = members;
  const from = new Map<string, string>();
  const open = [first];
  for (const name of open) {
    const component = components.get(name);
    for (const target of component === undefined ? [] : listNext(component)) {
      if (!members.has(target) || from.has(target)) continue;
      from.set(target, name);
      open.push(target);
    }
    if (from.has(first)) break;
  }
  const way = [first];
  for (let name = from.get(first); name !== undefined && name !== first; name = from.get(name))
    way.unshift(name);
  return [first, ...way];
}
