/** Replaces every `${…}` and `{fromGrid}` in a component's parameters by values. */
import { expressionResultLimit } from '../format/bounds.ts';
import type { Plain, PlainMap } from '../format/pipeline.ts';
import { splitTemplate } from '../format/template.ts';
import {
  type ExpressionEngine,
  ExpressionError,
  type ExpressionScope,
  type ExpressionValue,
} from './expressions.ts';
import {
  readGridColumns,
  type Scalar,
  setDefault,
  type Variable,
  VariableError,
  type VariableScope,
} from './variables.ts';

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
  if (segments.length === 1 && first !== undefined && 'expression' in first) {
    return evaluateExpression(first.expression, evaluation);
  }
  let result = '';
  for (const segment of segments) {
    result +=
      'text' in segment ? segment.text : toText(await evaluateExpression(segment.expression, evaluation));
    if (result.length > expressionResultLimit) throw new ExpressionError(tooLong);
  }
  return result;
}

/** Evaluates JavaScript that is written without `${…}`. @throws ExpressionError */
export async function evaluateExpression(
  expression: string,
  evaluation: Evaluation,
): Promise<ExpressionValue> {
  return evaluation.engine.evaluate(expression, await createExpressionScope(expression, evaluation));
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
      return readWithDefaults(evaluation, (scope) => readRowsFromGrid(fromGrid, scope));
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

/** The defaults of the variables that the expression names are resolved. */
async function createExpressionScope(expression: string, evaluation: Evaluation): Promise<ExpressionScope> {
  const { scope, sysvar } = evaluation;
  const variables = scope.all();
  if (!variables.some(({ template }) => template !== undefined)) return { variables, sysvar };
  const resolved: Variable[] = [];
  for (const variable of variables) {
    const named = variable.template !== undefined && isNamedIn(expression, variable.name);
    resolved.push(named ? await resolveDefault(variable, evaluation) : variable);
  }
  return { variables: resolved, sysvar };
}

/** Not as a member: in `table.length`, `length` is not a variable. */
function isNamedIn(expression: string, name: string): boolean {
  for (let at = expression.indexOf(name); at >= 0; at = expression.indexOf(name, at + 1)) {
    const isPart = /(?:[\w$]|(?<!\.\.)\.)$/.test(expression.slice(Math.max(0, at - 3), at));
    if (!isPart && !/[\w$]/.test(expression[at + name.length] ?? '')) return true;
  }
  return false;
}

/** The defaults that are being resolved, from the first one to the innermost. */
const resolving = new WeakMap<Evaluation, readonly string[]>();

/** A variable whose default contains `${…}`, with its value. @throws TemplateError, ExpressionError, VariableError */
async function resolveDefault(variable: Variable, evaluation: Evaluation): Promise<Variable> {
  const { name, template } = variable;
  if (template === undefined) return variable;
  const outer = resolving.get(evaluation) ?? [];
  if (outer.includes(name)) {
    throw new VariableError(
      `the defaults of variables refer to each other: ${[...outer, name].join(' → ')}: give one of them a plain value`,
    );
  }
  const inner = { ...evaluation };
  resolving.set(inner, [...outer, name]);
  const { value } = await resolveParameters({ value: template }, inner);
  return setDefault(variable, value);
}

/** Ends a reading that needs a default. */
class WantedDefault extends Error {}

/**
 * Calls `read` with a scope in which the defaults that it reads have their values. The others are not resolved: each
 * costs an expression, and may name a secret that is not needed. `read` is called again after each, so that it must
 * have no effect.
 *
 * @throws what `read` throws; TemplateError, ExpressionError, VariableError of a default that it reads
 */
export async function readWithDefaults<T>(
  evaluation: Evaluation,
  read: (scope: VariableScope) => T,
): Promise<T> {
  const { scope } = evaluation;
  const resolved = new Map<string, Variable>();
  for (;;) {
    let unresolved: Variable | undefined;
    const get = (name: string) => {
      const variable = scope.get(name);
      if (variable?.template === undefined) return variable;
      const found = resolved.get(name);
      if (found !== undefined) return found;
      unresolved ??= variable;
      throw new WantedDefault();
    };
    const attempt = tryRead(() => read({ ...scope, get }));
    if (unresolved !== undefined) resolved.set(unresolved.name, await resolveDefault(unresolved, evaluation));
    else if ('error' in attempt) throw attempt.error;
    else return attempt.value;
  }
}

/** An error counts only if no default was missing. */
function tryRead<T>(read: () => T): { value: T } | { error: unknown } {
  try {
    return { value: read() };
  } catch (error) {
    return { error };
  }
}

/** The same evaluation with a scope in which the defaults have their values. A bad default fails when it is read. */
export async function resolveDefaults(evaluation: Evaluation): Promise<Evaluation> {
  const { scope } = evaluation;
  const resolved = new Map<string, Variable | Error>();
  for (const variable of scope.all()) {
    if (variable.template === undefined) continue;
    const value = await resolveDefault(variable, evaluation).catch((error: unknown) =>
      error instanceof Error ? error : new Error(String(error)),
    );
    resolved.set(variable.name, value);
  }
  if (resolved.size === 0) return evaluation;
  const read = (variable: Variable): Variable => {
    const found = variable.template === undefined ? undefined : resolved.get(variable.name);
    if (found instanceof Error) throw found;
    return found ?? variable;
  };
  const get = (name: string) => {
    const variable = scope.get(name);
    return variable === undefined ? undefined : read(variable);
  };
  return { ...evaluation, scope: { ...scope, get } };
}

function toText(value: ExpressionValue): string {
  return value === null ? '' : String(value);
}
