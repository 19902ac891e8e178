/** Continues by `true` or `false`, decided by simple conditions on variables or by an expression. */

import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import {
  describeMissingVariable,
  isGrid,
  type Scalar,
  VariableError,
  type VariableScope,
} from '../expressions/variables.ts';
import { assignedVariable, assigns } from '../format/assignments.ts';
import type { VariableType } from '../format/pipeline.ts';
import { unwrapExpression } from '../format/template.ts';
import { isConditionMet, readCondition, requireNumbers } from './definition/comparator.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { choiceParameter, expressionParameter, rowsParameter } from './definition/declared-parameters.ts';

const modes = { Simple: false, Advanced: true };

export const ifComponent: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Continues by `true` or `false`, decided by conditions on variables or by an expression.',
  group: 'flow',
  parameters: {
    mode: choiceParameter('Simple: conditions on variables. Advanced: an expression.', Object.keys(modes), {
      required: true,
    }),
    condition: rowsParameter(
      'The conditions of the mode Simple, with these [comparators](../transformations.md#comparators).',
      ['variable', 'Is or Not', 'comparator', 'value'],
      { variable: { as: 'scalar', cell: 0 } },
    ),
    combineConditions: choiceParameter('Whether all or any of them must hold.', ['And', 'Or'], {
      standard: 'And',
    }),
    condition1: expressionParameter('The expression of the mode Advanced. It must be true or false.', {
      raw: true,
    }),
  },
  example: `type: if
parameters:
  mode: Simple
  condition:
    - [customers, Is, Greater than, "0"]
transitions:
  "true": [Report]
  "false": [Give up]`,
  plan({ parameters, scope }) {
    const advanced = parameters.choice('mode', modes);
    if (advanced) {
      const expression = unwrapExpression(parameters.text('condition1'));
      const assigned = assignedVariable(expression, (name) => scope.get(name) !== undefined);
      if (assigned !== undefined) throw new ParameterError(assigns(assigned));
      return { action: 'branch', condition: { expression } };
    }
    const results = parameters.rows('condition', 3).map((row) => {
      const condition = readCondition(row);
      const { type, value } = readScalar(scope, condition.subject);
      if (type === 'NUMBER') requireNumbers(condition);
      return isConditionMet(condition, value);
    });
    if (results.length === 0) throw createNoConditionError();
    const any = isCombinedByOr(parameters);
    return { action: 'branch', condition: any ? results.includes(true) : !results.includes(false) };
  },
  check({ parameters }) {
    if (parameters.choice('mode', modes)) {
      unwrapExpression(parameters.text('condition1'));
      return;
    }
    const rows = parameters.rows('condition', 3);
    for (const row of rows) readCondition(row);
    if (rows.length === 0) throw createNoConditionError();
    isCombinedByOr(parameters);
  },
};

const isCombinedByOr = (parameters: Parameters) =>
  parameters.choice('combineConditions', { And: false, Or: true }, false);
const createNoConditionError = () => new ParameterError('"condition" is empty: add a condition');

function readScalar(scope: VariableScope, name: string): { type: VariableType; value: Scalar } {
  const variable = scope.get(name);
  if (variable === undefined) throw new VariableError(describeMissingVariable(name));
  if (isGrid(variable.value))
    throw new VariableError(`the variable "${name}" is a grid: use the mode Advanced and "${name}.<column>"`);
  return { type: variable.type, value: variable.value };
}
