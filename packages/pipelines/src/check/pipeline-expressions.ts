/**
 * Collects the expressions of a pipeline that a run may evaluate, in the form in which they are evaluated.
 */

import { listParameterNames, renameParameters } from '../components/definition/declared-parameters.ts';
import { omitLiteralParameters } from '../components/definition/literal-parameters.ts';
import { findDefinition } from '../components/registry.ts';
import { expressionSourceLimit } from '../format/bounds.ts';
import type { LineOf } from '../format/parse.ts';
import type { OrchestrationComponent, Pipeline, Plain } from '../format/pipeline.ts';
import { splitTemplate, TemplateError, unwrapExpression } from '../format/template.ts';
import { findReach } from '../plan/reach.ts';
import { secondCells } from '../validate/validate-variables.ts';

export interface PlacedExpression {
  readonly component: string;
  readonly line: number;
  readonly source: string;
}

/** A single name may be a variable's name, even if it is not valid JavaScript. */
const name = /^\s*[A-Za-z_$][\w$]*\s*$/;

export function collectExpressions(pipeline: Pipeline, lineOf: LineOf): PlacedExpression[] {
  const { runs } = findReach(pipeline);
  const found: PlacedExpression[] = [];
  for (const component of pipeline.components.values()) {
    if (!runs.has(component.name)) continue;
    const place = ['pipeline', 'components', component.name];
    const add = (sources: readonly string[], ...at: string[]) => {
      for (const source of sources) {
        if (name.test(source) || source.length > expressionSourceLimit) continue;
        found.push({ component: component.name, line: lineOf([...place, ...at]), source });
      }
    };
    const definition = findDefinition(component.type);
    const table = definition?.parameters ?? {};
    const raw = listParameterNames(table, 'raw');
    const renamed = renameParameters(component.parameters, table);
    const resolved = definition === undefined ? renamed : omitLiteralParameters(renamed, definition);
    for (const [parameter, value] of Object.entries(resolved))
      if (!raw.includes(parameter)) add(findEmbedded(value), 'parameters', parameter);
    if ('transitions' in component) addOwnExpressions(component, add);
  }
  return found;
}

/** Adds the expressions of updates, and the condition of an `if`, which is written without `${…}`. */
function addOwnExpressions(
  { type, parameters, ...component }: OrchestrationComponent,
  add: (sources: readonly string[], ...at: string[]) => void,
): void {
  const { updateScalarVariables, updateGridVariables, outputMessage = '' } = component;
  add(
    updateScalarVariables.flatMap(([, value]) => findEmbedded(value)),
    'postProcessing',
    'updateScalarVariables',
  );
  add(
    updateGridVariables.flatMap(({ rows }) => findEmbedded(rows)),
    'postProcessing',
    'updateGridVariables',
  );
  add(findEmbedded(outputMessage), 'postProcessing', 'updateOutputMessage');
  if (type === 'update-scalar')
    add(secondCells(parameters.scalarsToUpdate).flatMap(findEmbedded), 'parameters', 'scalarsToUpdate');
  const { mode, condition1 } = parameters;
  if (type !== 'if' || typeof condition1 !== 'string' || condition1.trim() === '') return;
  if (typeof mode === 'string' && mode.trim().toLowerCase() === 'advanced')
    add(
      ignoreUnclosed(() => [unwrapExpression(condition1)]),
      'parameters',
      'condition1',
    );
}

/** The expressions inside `${…}` in a value. */
function findEmbedded(value: Plain): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.values(value).flatMap((inner: Plain) => findEmbedded(inner));
  if (typeof value !== 'string' || !value.includes('${')) return [];
  return ignoreUnclosed(() =>
    splitTemplate(value).flatMap((segment) => ('expression' in segment ? [segment.expression] : [])),
  );
}

/** An unclosed expression is reported by another check. */
function ignoreUnclosed(read: () => string[]): string[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof TemplateError) return [];
    throw error;
  }
}
