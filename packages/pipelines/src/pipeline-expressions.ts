/** The expressions of a pipeline that a run may come to, each as it will be evaluated. */
import { expressionSourceLimit } from './bounds.ts';
import { findDefinition } from './components/registry.ts';
import type { LineOf } from './parse.ts';
import type { OrchestrationComponent, Pipeline, Plain } from './pipeline.ts';
import { reachOf } from './reach.ts';
import { splitTemplate, TemplateError, unwrapExpression } from './template.ts';
import { secondCells } from './validate-variables.ts';

export interface PlacedExpression {
  readonly component: string;
  readonly line: number;
  readonly source: string;
}

/** A plain name may be that of a variable, whatever JavaScript makes of it. */
const name = /^\s*[A-Za-z_$][\w$]*\s*$/;

export function expressionsOf(pipeline: Pipeline, lineOf: LineOf): PlacedExpression[] {
  const { runs } = reachOf(pipeline);
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
    const raw = definition?.kind === 'orchestration' ? (definition.raw ?? []) : [];
    for (const [parameter, value] of Object.entries(component.parameters))
      if (!raw.includes(parameter)) add(embedded(value), 'parameters', parameter);
    if ('transitions' in component) addBare(component, add);
  }
  return found;
}

/** Expressions that may stand by themselves, outside of `${…}`. */
function addBare(
  { type, parameters, updateScalarVariables }: OrchestrationComponent,
  add: (sources: readonly string[], ...at: string[]) => void,
): void {
  const updated = updateScalarVariables.flatMap(([, expression]) => bare(expression));
  add(updated, 'postProcessing', 'updateScalarVariables');
  if (type === 'update-scalar')
    add(secondCells(parameters.scalarsToUpdate).flatMap(bare), 'parameters', 'scalarsToUpdate');
  const { mode, condition1 } = parameters;
  if (type !== 'if' || typeof condition1 !== 'string' || condition1.trim() === '') return;
  if (typeof mode === 'string' && mode.trim().toLowerCase() === 'advanced')
    add(
      readable(() => [unwrapExpression(condition1)]),
      'parameters',
      'condition1',
    );
}

function bare(expression: string): string[] {
  if (expression.includes('${')) return embedded(expression);
  return expression.trim() === '' ? [] : [expression];
}

/** What is inside of `${…}` in a value. */
function embedded(value: Plain): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.values(value).flatMap((inner: Plain) => embedded(inner));
  if (typeof value !== 'string' || !value.includes('${')) return [];
  return readable(() =>
    splitTemplate(value).flatMap((segment) => ('expression' in segment ? [segment.expression] : [])),
  );
}

/** An expression without an end is reported by itself. */
function readable(read: () => string[]): string[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof TemplateError) return [];
    throw error;
  }
}
