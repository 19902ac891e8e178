/** Decides for each override of a request whether it can be written. Pure. */
import {
  type EnvironmentOverride,
  environmentNameForm,
  type FailedOverride,
  type OverrideToWrite,
  type VariableType,
} from '@headgate/contract';
import { type Problem, problem, withViolations } from '../../kernel/http/problems.ts';
import type { EnvironmentsWhere } from '../environments/index.ts';
import { explainMisfit, hasType, pickKnownValue } from './variable.ts';

type Body = { environmentOverrides: OverrideToWrite[] } | OverrideToWrite[] | OverrideToWrite;

/** The overrides of a body in any of its three forms. Throws `duplicate-environment`. */
export function readOverrides(body: Body): OverrideToWrite[] {
  const list = Array.isArray(body) ? body : isList(body) ? body.environmentOverrides : [body];
  const names = new Set<string>();
  for (const each of list) {
    if (names.has(each.environmentName))
      throw problem('duplicate-environment', { name: each.environmentName });
    names.add(each.environmentName);
  }
  return list;
}

/** A single override may have an unknown member of this name, which is ignored like any other. */
function isList(body: object): body is { environmentOverrides: OverrideToWrite[] } {
  return 'environmentOverrides' in body && Array.isArray(body.environmentOverrides);
}

export function judgeOverrides(
  expected: readonly OverrideToWrite[],
  variable: { type: VariableType },
  writable: EnvironmentsWhere,
): { accepted: EnvironmentOverride[]; failed: FailedOverride[] } {
  const accepted: EnvironmentOverride[] = [];
  const failed: FailedOverride[] = [];
  for (const each of expected) {
    const fault = findFault(each, variable.type, writable);
    if (fault !== undefined)
      failed.push({ environmentName: each.environmentName, value: each.value ?? null, ...fault });
    else if (hasType(variable.type, each.value))
      accepted.push({ environmentName: each.environmentName, value: pickKnownValue(each.value) });
  }
  return { accepted, failed };
}

function findFault(
  override: OverrideToWrite,
  type: VariableType,
  writable: EnvironmentsWhere,
): Pick<FailedOverride, 'code' | 'reason'> | undefined {
  // Shorten a long name in the message.
  const name = JSON.stringify(override.environmentName).slice(0, 300);
  if (!environmentNameForm.test(override.environmentName)) {
    return { code: 'INVALID_NAME', reason: `${name} is not a valid environment name.` };
  }
  if (!writable.all.has(override.environmentName)) {
    return { code: 'ENVIRONMENT_NOT_FOUND', reason: `The project has no environment ${name}.` };
  }
  if (!writable.permitted.has(override.environmentName)) {
    return { code: 'FORBIDDEN', reason: `The caller may not write overrides in the environment ${name}.` };
  }
  const found = explainMisfit(type, override.value);
  return found === undefined
    ? undefined
    : { code: 'TYPE_MISMATCH', reason: `The variable is a ${type}; the value is ${found}.` };
}

/** The problem of an atomic request; lists each override that cannot be written. */
export function createOverridesProblem(
  expected: readonly OverrideToWrite[],
  failed: readonly FailedOverride[],
): Problem {
  const violations = failed.map((each) => {
    const index = expected.findIndex((sent) => sent.environmentName === each.environmentName);
    return {
      field: `body.environmentOverrides[${index}]`,
      pointer: `/body/environmentOverrides/${index}`,
      detail: `${each.code}: ${each.reason}`,
    };
  });
  return withViolations(problem('overrides-refused', { count: failed.length }), violations);
}
