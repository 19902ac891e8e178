/** Variables as a restart carries them, and back. */
import type { CarriedVariable, ProjectVariable, RestartPlan, RunVariable } from '@headgate/contract';
import { runVariablesLimit, stepValuesLimit } from '@headgate/contract/without-schemas';
import { createProjectVariable, isGrid, type Variable, type VariableScope } from '@headgate/pipelines';
import { renderValue } from './run-variables.ts';

/** @param room characters that are left for the values of the run */
export function carryVariable(
  { name, value }: Variable,
  mask: (text: string) => string,
  room: number,
): { carried: CarriedVariable; size: number } {
  const plain = isGrid(value) ? value.rows.map((row) => [...row]) : value;
  const json = JSON.stringify(plain);
  const lose = (lost: NonNullable<CarriedVariable['lost']>) => ({ carried: { name, lost }, size: 0 });
  if (json.length > Math.min(stepValuesLimit, room)) return lose('size');
  const texts = (isGrid(value) ? value.rows.flat() : [value]).map((each) => String(each ?? ''));
  if (mask(json) !== json || texts.some((text) => mask(text) !== text)) return lose('secret');
  if (texts.some((text) => text.includes('\0') || !text.isWellFormed())) return lose('text');
  return { carried: { name, value: plain }, size: json.length };
}

/** @throws VariableError if a variable does not exist any more or has another type */
export function restoreVariables(scope: VariableScope, variables: readonly CarriedVariable[]): void {
  for (const { name, value } of variables) {
    if (Array.isArray(value)) scope.setGrid(name, value);
    else scope.setScalar(name, value);
  }
}

/**
 * The project's variables with the values that they had when the restarted execution began.
 *
 * @throws Error if a value that is not kept whole has changed since
 */
export function restoreProjectVariables(
  variables: readonly ProjectVariable[],
  { projectVariables: recorded, restartOf }: RestartPlan,
): ProjectVariable[] {
  const before = new Map(recorded.map((each) => [each.name, each]));
  return variables.map((variable) => {
    const record = before.get(variable.name);
    // It is new, and so was not there when the execution began.
    if (record === undefined && recorded.length < runVariablesLimit) return variable;
    const now = renderValue(createProjectVariable(variable), (text) => text);
    if (record !== undefined && isSame(record, now)) return variable;
    if (record === undefined || record.truncated === true || isMasked(record))
      throw new Error(
        `the project's variable "${variable.name}" may have changed since the execution ${restartOf} began, and its earlier value is not kept whole: start the pipeline again`,
      );
    const { value: _, ...rest } = variable;
    return record.value === undefined ? rest : { ...rest, value: record.value };
  });
}

function isSame(one: RunVariable, other: Pick<RunVariable, 'value' | 'rowCount' | 'truncated'>): boolean {
  return (
    JSON.stringify([one.value, one.rowCount, one.truncated]) ===
    JSON.stringify([other.value, other.rowCount, other.truncated])
  );
}

/** A text with a secret was recorded with a mask. */
function isMasked({ value, secretReference }: RunVariable): boolean {
  return secretReference !== undefined || JSON.stringify(value ?? '').includes('***');
}
