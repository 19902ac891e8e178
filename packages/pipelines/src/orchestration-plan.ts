/** Turns one component of an orchestration into the action that the engine carries out. */
import type { Action } from './components/component.ts';
import { getOrchestrationDefinition } from './components/registry.ts';
import { createParameters } from './parameters.ts';
import type { Orchestration, OrchestrationComponent } from './pipeline.ts';
import { type Evaluation, resolveParameters } from './resolve.ts';
import type { Dialect } from './sql/dialect.ts';

/**
 * @throws UnknownComponentTypeError, ParameterError, SqlError, VariableError, TemplateError, ExpressionError
 */
export async function planComponent(
  orchestration: Orchestration,
  component: OrchestrationComponent,
  dialect: Dialect,
  evaluation: Evaluation,
): Promise<Action> {
  const definition = getOrchestrationDefinition(component.type, orchestration.path);
  const values = await resolveParameters(component.parameters, evaluation, definition.raw);
  return definition.plan({
    parameters: createParameters(values),
    component,
    dialect,
    scope: evaluation.scope,
  });
}
