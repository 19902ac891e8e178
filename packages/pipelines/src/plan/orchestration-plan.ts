/** Turns one component of an orchestration into the action that the engine carries out. */
import type { Action } from '../components/definition/component.ts';
import {
  listParameterNames,
  listParametersWithoutEffect,
  renameParameters,
} from '../components/definition/declared-parameters.ts';
import { listLiteralParameters } from '../components/definition/literal-parameters.ts';
import { getOrchestrationDefinition } from '../components/registry.ts';
import { createParameters } from '../expressions/parameters.ts';
import { type Evaluation, readWithDefaults, resolveParameters } from '../expressions/resolve.ts';
import type { Orchestration, OrchestrationComponent } from '../format/pipeline.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';

export interface PlannedComponent {
  readonly action: Action;
  /** Names of given parameters that have no effect here. */
  readonly withoutEffect: readonly string[];
}

/**
 * @throws UnknownComponentTypeError, ParameterError, SqlError, VariableError, TemplateError, ExpressionError
 */
export async function planComponent(
  orchestration: Orchestration,
  component: OrchestrationComponent,
  dialect: Dialect,
  evaluation: Evaluation,
): Promise<PlannedComponent> {
  const definition = getOrchestrationDefinition(component.type, orchestration.path, component.parameters);
  const { parameters: table } = definition;
  const parameters = renameParameters(component.parameters, table);
  const raw = [...listParameterNames(table, 'raw'), ...listLiteralParameters(parameters, definition)];
  const values = await resolveParameters(parameters, evaluation, raw);
  const input = { parameters: createParameters(values), component: { ...component, parameters }, dialect };
  const action = await readWithDefaults(evaluation, (scope) => definition.plan({ ...input, scope }));
  return { action, withoutEffect: listParametersWithoutEffect(values, table) };
}
