/** Goes on by `true` or `false`: simple conditions on variables, or one expression. */
import { conditionHolds, readCondition } from '../comparator.ts';
import { ParameterError } from '../parameters.ts';
import { unwrapExpression } from '../template.ts';
import { isGrid, missingVariable, type Scalar, VariableError, type VariableScope } from '../variables.ts';
import type { OrchestrationDefinition } from './component.ts';

export const ifComponent: OrchestrationDefinition = {
  kind: 'orchestration',
  required: ['mode'],
  raw: ['condition1'],
  plan({ parameters, scope }) {
    const advanced = parameters.choice('mode', { Simple: false, Advanced: true });
    if (advanced) {
      return { action: 'branch', condition: { expression: unwrapExpression(parameters.text('condition1')) } };
    }
    const results = parameters.rows('condition', 3).map((row) => {
      const condition = readCondition(row);
      return conditionHolds(condition, scalarOf(scope, condition.subject));
    });
    if (results.length === 0) throw new ParameterError('"condition" has no row: add a condition');
    const any = parameters.choice('combineConditions', { And: false, Or: true }, false);
    return { action: 'branch', condition: any ? results.includes(true) : !results.includes(false) };
  },
};

function scalarOf(scope: VariableScope, name: string): Scalar {
  const variable = scope.get(name);
  if (variable === undefined) throw new VariableError(missingVariable(name));
  if (isGrid(variable.value))
    throw new VariableError(`"${name}" is a grid; use Advanced mode and "${name}.<column>"`);
  return variable.value;
}
