/**
 * Plans a component before the run, as far as its parameters are known then: a word that no component knows,
 * a row that is too short, a type of SQL that does not exist are found before anything has run.
 *
 * - **open**: of a value that holds an expression, or rows of a grid: it is known when the run comes to it.
 * - **guess**: a value that stands for one that is open or wrong. What follows from a guess is not reported.
 */
import type { OrchestrationDefinition } from './components/component.ts';
import type { Report } from './finding.ts';
import { createParameters, MissingParameterError, ParameterError, type Parameters } from './parameters.ts';
import type { OrchestrationComponent, Plain, PlainMap } from './pipeline.ts';
import { SqlError } from './sql/dialect.ts';
import { duckdb } from './sql/duckdb.ts';
import { TemplateError } from './template.ts';
import { createScope } from './variables.ts';

/** The dialect of the only warehouse that there is; with others, the project's. */
export const checkedDialect = duckdb;

export function checkPlan(
  component: OrchestrationComponent,
  definition: OrchestrationDefinition,
  report: Report,
): void {
  planKnown(component, report, (parameters) => {
    const context = { parameters, component, dialect: checkedDialect };
    if (definition.check !== undefined) definition.check(context);
    else definition.plan({ ...context, scope: createScope([]) });
  });
}

/**
 * Calls `plan` with what is known of the parameters, and reports what is certainly wrong.
 *
 * @param open that something beside the parameters is not known
 * @returns what `plan` answers; undefined when it cannot be planned
 */
export function planKnown<T>(
  { name: component, parameters: values }: { name: string; parameters: PlainMap },
  report: Report,
  plan: (parameters: Parameters) => T,
  open = false,
): T | undefined {
  let guessed = false;
  const fault = (error: Error, at: readonly string[]) => {
    const code = error instanceof MissingParameterError ? 'missing-parameter' : 'invalid-parameter';
    if (!guessed) report({ component, at, code, message: error.message, level: 'error' });
    guessed = true;
  };
  const guess = () => {
    guessed = true;
  };
  try {
    return plan(knownParameters(values, guess, fault));
  } catch (error) {
    const known = !open && !holdsExpression(values);
    if (error instanceof ParameterError || error instanceof SqlError || error instanceof TemplateError) {
      if (known) fault(error, ['parameters']);
    }
    // Any other error is that of the plan, which fails in the same way when the run comes to it.
    return undefined;
  }
}

function knownParameters(
  values: PlainMap,
  guess: () => void,
  fault: (error: ParameterError, at: readonly string[]) => void,
): Parameters {
  const exact = createParameters(values);
  const read = <T>(name: string, exactly: () => T, instead: T): T => {
    try {
      return exactly();
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      fault(error, ['parameters', name]);
      return instead;
    }
  };
  const isOpen = (name: string) => Object.hasOwn(values, name) && holdsExpression(values[name]);
  /** A value that decides which others are needed. */
  const deciding = <T>(name: string, exactly: () => T, instead: T): T => {
    if (!isOpen(name)) return read(name, exactly, instead);
    guess();
    return instead;
  };
  const list = <T>(name: string, exactly: () => T[]): T[] => {
    const value = values[name];
    const known = Array.isArray(value) ? !value.some(isFromGrid) : !isOpen(name);
    return known ? read(name, exactly, []) : [];
  };
  return {
    value: exact.value,
    text: (name) => read(name, () => exact.text(name), ''),
    optionalText: (name) => read(name, () => exact.optionalText(name), undefined),
    yes: (name, otherwise) => deciding(name, () => exact.yes(name, otherwise), otherwise),
    choice: (name, choices, otherwise) => {
      const [first] = Object.values(choices);
      return deciding(
        name,
        () => exact.choice(name, choices, otherwise),
        otherwise ?? (first as typeof first & {}),
      );
    },
    integer: (name) => deciding(name, () => exact.integer(name), 0),
    optionalInteger: (name) => deciding(name, () => exact.optionalInteger(name), undefined),
    names: (name) => list(name, () => exact.names(name)),
    rows: (name, width) => list(name, () => exact.rows(name, width)),
  };
}

/** Whether a value of a file, or one inside it, is known only when the run comes to it. */
export function holdsExpression(value: Plain | undefined): boolean {
  if (typeof value === 'string') return value.includes('${');
  if (typeof value !== 'object' || value === null) return false;
  return isFromGrid(value) || Object.values(value).some((inner: Plain) => holdsExpression(inner));
}

function isFromGrid(value: Plain): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'fromGrid' in value;
}
