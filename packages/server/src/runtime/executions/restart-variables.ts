import type { CarriedVariable } from '@headgate/contract';
import type { RecordedStep } from './restart-steps.ts';

/** The values after these steps, in the order in which they ended. */
export function foldVariables(
  base: readonly CarriedVariable[],
  steps: readonly RecordedStep[],
): CarriedVariable[] {
  const variables = new Map(base.map((each) => [each.name, each]));
  const ended = steps
    .flatMap(({ record }) => (record?.ended === undefined ? [] : [{ ended: record.ended, record }]))
    .sort((one, other) => one.ended - other.ended);
  for (const { record } of ended)
    for (const variable of record.variables ?? []) variables.set(variable.name, variable);
  return [...variables.values()];
}
