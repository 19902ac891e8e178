/** Replaces every `${…}` and `{fromGrid}` in a component's parameters by values. */
import { expressionResultLimit } from './bounds.ts';
import {
  type ExpressionEngine,
  ExpressionError,
  type ExpressionScope,
  type ExpressionValue,
} from './expressions.ts';
import type { Plain, PlainMap } from './pipeline.ts';
import { splitTemplate } from './template.ts';
import { readGridColumns, type Scalar, type VariableScope } from './variables.ts';

/** A resolved value. A parameter that is exactly `${x}` keeps the type of x, such as number. */
export type Resolved = string | number | boolean | null | readonly Resolved[] | ResolvedMap;
export interface ResolvedMap {
  readonly [name: string]: Resolved;
}

export interface Evaluation {
  readonly engine: ExpressionEngine;
  readonly scope: VariableScope;
  readonly sysvar: Readonly<Record<string, unknown>>;
}

/** Evaluates a template. @throws TemplateError, ExpressionError */
export async function interpolate(template: string, evaluation: Evaluation): Promise<ExpressionValue> {
  if (!template.includes('${')) return template;
  const segments = splitTemplate(template);
  const [first] = segments;
  const scope = createExpressionScope(evaluation);
  if (segments.length === 1 && first !== undefined && 'expression' in first) {
    return evaluation.engine.evaluate(first.expression, scope);
  }
  let result = '';
  for (const segment of segments) {
    result +=
      'text' in segment ? segment.text : toText(await evaluation.engine.evaluate(segment.expression, scope));
    if (result.length > expressionResultLimit) throw new ExpressionError(tooLong);
  }
  return result;
}

/**
 * Evaluates a value where the format expects an expression (update-scalar, postProcessing): a template if it
 * contains `${`, else JavaScript.
 *
 * @throws TemplateError, ExpressionError
 */
export async function evaluateValue(expression: string, evaluation: Evaluation): Promise<ExpressionValue> {
  if (expression.includes('${')) return interpolate(expression, evaluation);
  if (expression.trim() === '') return '';
  return evaluation.engine.evaluate(expression, createExpressionScope(evaluation));
}

const tooLong = `a parameter has more than ${expressionResultLimit} characters after evaluation: use shorter values`;

/**
 * @param raw names of parameters that are not resolved here, since they are expressions evaluated later
 * @throws TemplateError, ExpressionError, VariableError
 */
export async function resolveParameters(
  parameters: PlainMap,
  evaluation: Evaluation,
  raw: readonly string[] = [],
): Promise<ResolvedMap> {
  let characters = 0;
  async function resolve(value: Plain): Promise<Resolved> {
    if (typeof value === 'string') {
      const result = await interpolate(value, evaluation);
      characters += typeof result === 'string' ? result.length : 0;
      if (characters > expressionResultLimit) throw new ExpressionError(tooLong);
      return result;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (isList(value)) return mapInTurn(value, resolve);
    const fromGrid = value.fromGrid;
    if (fromGrid !== undefined && Object.keys(value).length === 1)
      return readRowsFromGrid(fromGrid, evaluation.scope);
    return resolveMap(value, resolve);
  }
  return resolveMap(parameters, (value, name) =>
    raw.includes(name) ? Promise.resolve(value) : resolve(value),
  );
}

async function resolveMap(
  map: PlainMap,
  resolve: (value: Plain, name: string) => Promise<Resolved>,
): Promise<ResolvedMap> {
  const entries: [string, Resolved][] = [];
  for (const [name, value] of Object.entries(map)) entries.push([name, await resolve(value, name)]);
  return Object.fromEntries(entries);
}

async function mapInTurn(
  list: readonly Plain[],
  resolve: (value: Plain) => Promise<Resolved>,
): Promise<Resolved[]> {
  const results: Resolved[] = [];
  for (const value of list) results.push(await resolve(value));
  return results;
}

function readRowsFromGrid(fromGrid: Plain, scope: VariableScope): Scalar[][] {
  const { variable, columns } = (
    typeof fromGrid === 'object' && fromGrid !== null ? fromGrid : {}
  ) as PlainMap;
  if (typeof variable !== 'string' || columns === undefined || !isList(columns)) {
    throw new ExpressionError('"fromGrid" needs "variable" and "columns", a list of column names');
  }
  return readGridColumns(
    scope,
    variable,
    columns.map((column) => (column === null ? '' : String(column))),
  );
}

function isList(value: Plain): value is readonly Plain[] {
  return Array.isArray(value);
}

function createExpressionScope({ scope, sysvar }: Evaluation): ExpressionScope {
  return { variables: scope.all(), sysvar };
}

function toText(value: ExpressionValue): string {
  return value === null ? '' : String(value);
}
