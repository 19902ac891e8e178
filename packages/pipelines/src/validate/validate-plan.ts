/**
 * Plans components before the run, as far as their parameters are known. This finds unknown words, short rows
 * and unknown SQL types before anything runs.
 *
 * - **open**: the value contains an expression or rows of a grid, so it is known only during the run.
 * - **guess**: a value used in place of an open or wrong one. Errors that follow from a guess are not
 *   reported.
 */
import type { Action, OrchestrationDefinition } from '../components/definition/component.ts';
import { type ParameterTable, renameParameters } from '../components/definition/declared-parameters.ts';
import {
  createParameters,
  MissingParameterError,
  ParameterError,
  type Parameters,
} from '../expressions/parameters.ts';
import { createScope } from '../expressions/variables.ts';
import type { OrchestrationComponent, Plain, PlainMap } from '../format/pipeline.ts';
import { TemplateError } from '../format/template.ts';
import { type Dialect, SqlError } from '../sql/dialect/dialect.ts';
import { duckdb } from '../sql/duckdb.ts';
import { unchangedSql } from '../sql/rewriter.ts';
import type { Report } from './finding.ts';

/** The dialect of the only supported warehouse. Users' SQL is rewritten when its expressions have values. */
export const checkedDialect: Dialect = { ...duckdb, user: unchangedSql, ignoresAccess: true };

/** @returns the action, with expressions as they are written; undefined if only the run knows it */
export function checkPlan(
  component: OrchestrationComponent,
  definition: OrchestrationDefinition,
  report: Report,
): Action | undefined {
  return planKnownParameters(component, definition.parameters, report, (parameters) => {
    const context = { parameters, component, dialect: checkedDialect };
    if (definition.check === undefined) return definition.plan({ ...context, scope: createScope([]) });
    definition.check(context);
    return undefined;
  });
}

/**
 * Calls `plan` with the known parameters and reports certain errors.
 *
 * @param open something besides the parameters is unknown
 * @returns the result of `plan`; undefined if planning failed
 */
export function planKnownParameters<T>(
  { name: component, parameters: written }: { name: string; parameters: PlainMap },
  table: ParameterTable,
  report: Report,
  plan: (parameters: Parameters) => T,
  open = false,
): T | undefined {
  const values = renameParameters(written, table);
  let guessed = false;
  const reportFault = (error: Error, at: readonly string[]) => {
    const code = error instanceof MissingParameterError ? 'missing-parameter' : 'invalid-parameter';
    if (!guessed) report({ component, at, code, message: error.message, level: 'error' });
    guessed = true;
  };
  const markGuessed = () => {
    guessed = true;
  };
  try {
    return plan(createKnownParameters(values, markGuessed, reportFault));
  } catch (error) {
    const known = !open && !hasExpression(values);
    if (error instanceof ParameterError || error instanceof SqlError || error instanceof TemplateError) {
      if (known) reportFault(error, ['parameters']);
    }
    // Any other error is reported by the run, where planning fails in the same way.
    return undefined;
  }
}

function createKnownParameters(
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
  const isOpen = (name: string) => Object.hasOwn(values, name) && hasExpression(values[name]);
  /** Reads a value that decides which other parameters are needed. */
  const readDeciding = <T>(name: string, exactly: () => T, instead: T): T => {
    if (!isOpen(name)) return read(name, exactly, instead);
    guess();
    return instead;
  };
  const readKnownList = <T>(name: string, exactly: () => T[]): T[] => {
    const value = values[name];
    const known = Array.isArray(value) ? !value.some(isFromGrid) : !isOpen(name);
    return known ? read(name, exactly, []) : [];
  };
  return {
    value: exact.value,
    text: (name) => read(name, () => exact.text(name), ''),
    optionalText: (name) => read(name, () => exact.optionalText(name), undefined),
    yes: (name, otherwise) => readDeciding(name, () => exact.yes(name, otherwise), otherwise),
    choice: (name, choices, otherwise) => {
      const [first] = Object.values(choices);
      return readDeciding(
        name,
        () => exact.choice(name, choices, otherwise),
        otherwise ?? (first as typeof first & {}),
      );
    },
    integer: (name) => readDeciding(name, () => exact.integer(name), 0),
    optionalInteger: (name) => readDeciding(name, () => exact.optionalInteger(name), undefined),
    names: (name) => readKnownList(name, () => exact.names(name)),
    rows: (name, width) => readKnownList(name, () => exact.rows(name, width)),
  };
}

/** Whether a value, or one inside it, is known only during the run. */
export function hasExpression(value: Plain | undefined): boolean {
  if (typeof value === 'string') return value.includes('${');
  if (typeof value !== 'object' || value === null) return false;
  return isFromGrid(value) || Object.values(value).some((inner: Plain) => hasExpression(inner));
}

function isFromGrid(value: Plain): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'fromGrid' in value;
}
