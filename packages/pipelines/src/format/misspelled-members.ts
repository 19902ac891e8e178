/** Finds unknown members whose names are close to a known one. Other unknown members are ignored. */
import { attemptMembers } from './attempts.ts';
import { findNearestName } from './nearest.ts';
import type { MisspelledMember, PlainMap } from './pipeline.ts';

/** Unknown members of one map that are compared with the known ones. */
const unknownMemberLimit = 20;

const members = [
  'type',
  'parameters',
  'transitions',
  'skipped',
  'iterationTarget',
  'postProcessing',
  'sources',
  ...attemptMembers,
];

const postProcessingMembers = ['updateScalarVariables', 'updateGridVariables', 'updateOutputMessage'];

/** The misspelled members of a component. */
export function findMisspelledMembers(component: PlainMap): MisspelledMember[] {
  const { postProcessing } = component;
  const isMap =
    typeof postProcessing === 'object' && postProcessing !== null && !Array.isArray(postProcessing);
  const inside = isMap ? findMisspelled(postProcessing as PlainMap, postProcessingMembers) : [];
  return [
    ...findMisspelled(component, members),
    ...inside.map((each) => ({ ...each, inside: 'postProcessing' as const })),
  ];
}

export function findMisspelled(map: PlainMap, known: readonly string[]): MisspelledMember[] {
  const unknown = Object.keys(map).filter((member) => !known.includes(member));
  return unknown.slice(0, unknownMemberLimit).flatMap((member) => {
    const meant = findNearestName(member, known);
    return meant === undefined ? [] : [{ member, meant }];
  });
}
