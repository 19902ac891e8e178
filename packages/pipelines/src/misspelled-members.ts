/** Members that the format does not know, and that are near to one that it does. Others are passed over. */
import { nearestName } from './nearest.ts';
import type { MisspelledMember, PlainMap } from './pipeline.ts';

/** Unknown members of one map that are looked up. */
const unknownMemberLimit = 20;

const members = [
  'type',
  'parameters',
  'transitions',
  'skipped',
  'iterationTarget',
  'postProcessing',
  'sources',
];

const postProcessingMembers = ['updateScalarVariables', 'updateGridVariables', 'updateOutputMessage'];

/** Of a component. */
export function misspelledMembers(component: PlainMap): MisspelledMember[] {
  const { postProcessing } = component;
  const isMap =
    typeof postProcessing === 'object' && postProcessing !== null && !Array.isArray(postProcessing);
  const inside = isMap ? misspelledIn(postProcessing as PlainMap, postProcessingMembers) : [];
  return [
    ...misspelledIn(component, members),
    ...inside.map((each) => ({ ...each, inside: 'postProcessing' as const })),
  ];
}

export function misspelledIn(map: PlainMap, known: readonly string[]): MisspelledMember[] {
  const unknown = Object.keys(map).filter((member) => !known.includes(member));
  return unknown.slice(0, unknownMemberLimit).flatMap((member) => {
    const meant = nearestName(member, known);
    return meant === undefined ? [] : [{ member, meant }];
  });
}
