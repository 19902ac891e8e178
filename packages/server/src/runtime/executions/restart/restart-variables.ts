import type { CarriedVariable, RunVariable } from '@headgate/contract';
import type { RecordedStep } from './restart-steps.ts';

/** The values after these steps, in the order in which they ended. */
export function foldVariables(
  base: readonly CarriedVariable[],
  steps: readonly RecordedStep[],
): CarriedVariable[] {
  const variables = new Map(base.map((each) => [each.name, each]));
  const endedSteps = steps
    .flatMap(({ record }) => (record?.ended === undefined ? [] : [{ ended: record.ended, record }]))
    .sort((one, other) => one.ended - other.ended);
  for (const { record } of endedSteps)
    for (const variable of record.variables ?? []) variables.set(variable.name, variable);
  return [...variables.values()];
}

/** The recorded values that a called pipeline was given. What is not recorded whole is computed again. */
export function readGiven(variables: readonly RunVariable[]): CarriedVariable[] {
  return variables.flatMap(({ name, value = null, source, truncated, secretReference }) => {
    if (source !== 'caller' || truncated === true || secretReference !== undefined) return [];
    // A text with a secret was recorded with a mask.
    if (JSON.stringify(value).includes('***')) return [];
    return [{ name, value: typeof value === 'object' && value !== null ? value.rows : value }];
  });
}
