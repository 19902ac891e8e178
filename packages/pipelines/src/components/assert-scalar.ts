/** Fails unless variables have the expected values. */

import { ParameterError } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import {
  describeMissingVariable,
  isGrid,
  VariableError,
  type VariableScope,
} from '../expressions/variables.ts';
import { type Condition, isConditionMet, readCondition, requireNumbers } from './definition/comparator.ts';
import type { AssertionFault, OrchestrationDefinition } from './definition/component.ts';
import { rowsParameter } from './definition/declared-parameters.ts';

export const assertScalar: OrchestrationDefinition = {
  kind: 'orchestration',
  about:
    'Fails unless variables have the expected values. A row is `[variable, value]`, or `[variable, Is or Not, comparator, value]` with the comparators of `if`.',
  group: 'tests',
  aliases: ['assert-scalar-variables'],
  parameters: {
    assertions: rowsParameter(
      'The variables and what they must be.',
      ['variable', 'value, or Is or Not', 'comparator?', 'value?'],
      {
        required: true,
        variable: { as: 'scalar', cell: 0 },
        otherNames: ['scalarVariables', 'variablesToAssert', 'assertScalars'],
      },
    ),
  },
  example: `type: assert-scalar
parameters:
  assertions:
    - [rows, "3"]
    - [amount, Is, Greater than, "0"]`,
  plan({ parameters, scope }) {
    const conditions = readConditions(parameters.rows('assertions', 2));
    const faults = conditions.flatMap((condition) => findFault(condition, scope) ?? []);
    if (faults.length === 0) return { action: 'assert', checks: [] };
    return { action: 'assert', checks: [], fault: joinFaults(faults) };
  },
  check({ parameters }) {
    readConditions(parameters.rows('assertions', 2));
  },
};

function readConditions(rows: readonly Resolved[][]): Condition[] {
  if (rows.length === 0) throw new ParameterError('"assertions" is empty: add a row, such as [rows, "3"]');
  return rows.map((row) => {
    if (row.length >= 4) return readCondition(row);
    const [subject, second, third] = row;
    // `[variable, value]` or `[variable, comparator, value]`.
    return readCondition(
      row.length === 2
        ? [subject ?? '', 'Is', 'Equal to', second ?? '']
        : [subject ?? '', 'Is', second ?? '', third ?? ''],
    );
  });
}

function findFault(condition: Condition, scope: VariableScope): AssertionFault | undefined {
  const { subject, negated, comparator, operand } = condition;
  const variable = scope.get(subject);
  if (variable === undefined) throw new VariableError(describeMissingVariable(subject));
  const { type, value } = variable;
  if (isGrid(value))
    throw new VariableError(
      `the variable "${subject}" is a grid: assert a scalar variable, or a table by assert-table`,
    );
  if (type === 'NUMBER') requireNumbers(condition);
  if (isConditionMet(condition, value)) return undefined;
  const expected = `${subject} ${negated ? 'not ' : ''}${comparator} ${JSON.stringify(operand)}`;
  const actual = `${subject} = ${JSON.stringify(value)}`;
  return { message: `expected ${expected}, but ${actual}`, expected, actual };
}

function joinFaults(faults: readonly AssertionFault[]): AssertionFault {
  const join = (member: keyof AssertionFault, between: string) =>
    faults.map((fault) => fault[member]).join(between);
  return { message: join('message', '; '), expected: join('expected', '\n'), actual: join('actual', '\n') };
}
