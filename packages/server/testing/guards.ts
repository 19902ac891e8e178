/** The requests and expectations of the tests over all operations, from the guards of all slices. */
import { type Operation, operations } from '@headgate/contract';
import { mergeTables } from './guard-sum.ts';
import { guards } from './guards.list.ts';
import type { Examples, Place } from './place.ts';
import type { SliceGuards } from './slice-guards.ts';

/** By operation id. */
export const examples: Examples = addReads(mergeTables('examples', guards, (each) => each.examples));
/** By message id. */
export const protocolExamples = mergeTables('examples', guards, (each) => each.protocolExamples);
export const uniqueNames = mergeTables('unique names', guards, (each) => each.uniqueNames);
export const counted = mergeTables('counted resources', guards, (each) => each.counted);
export const countedElsewhere = mergeTables('counted resources', guards, (each) => each.countedElsewhere);
const takers = new Set(guards.flatMap(({ takesPlaceAway = [] }: SliceGuards) => takesPlaceAway));

/** Whether an operation's example deletes or blocks the place, so that it needs one of its own. */
export function takesPlaceAway({ id }: Pick<Operation, 'id'>): boolean {
  return takers.has(id);
}

/** Sorts operations so that those that delete the place come last: first its inner parts, the project at the end. */
export function sortGuards(operations: readonly Operation[]): Operation[] {
  const [takers, others] = [
    operations.filter(takesPlaceAway),
    operations.filter((each) => !takesPlaceAway(each)),
  ];
  return [...others, ...takers.toSorted((one, other) => other.path.length - one.path.length)];
}

/** Adds the GET requests of paths at which another operation has an example. */
function addReads(written: Examples): Examples {
  const read = operations.flatMap(({ id, method, path }) => {
    if (method !== 'GET' || written[id] !== undefined) return [];
    const other = operations.find((each) => each.path === path && written[each.id] !== undefined);
    const example = other && written[other.id];
    return example === undefined
      ? []
      : [[id, async (place: Place) => ({ path: (await example(place)).path })] as const];
  });
  return { ...written, ...Object.fromEntries(read) };
}
