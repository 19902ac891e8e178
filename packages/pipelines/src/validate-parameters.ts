/** Checks the names of parameters: missing, misspelled, and without effect. */
import type { ComponentDefinition } from './components/component.ts';
import type { Draft, Report } from './finding.ts';
import { findNearestName } from './nearest.ts';
import type { Pipeline, Plain, PlainMap } from './pipeline.ts';

type Component = { readonly name: string; readonly type: string; readonly parameters: PlainMap };

/** Unknown parameters of one component that are compared with the known ones. */
const unknownParameterLimit = 50;
/** A shorter name is not taken as an abbreviation of a parameter. */
const leastBeginning = 6;

/**
 * Files contain parameters for other warehouses, which have no effect here. An unknown parameter is reported
 * only if its name is close to a known parameter that is absent.
 */
export function checkParameterNames(
  { name: component, type, parameters }: Component,
  definition: ComponentDefinition,
  report: Report,
): void {
  const misspelled = findMisspelledParameters(parameters, definition);
  for (const parameter of definition.required) {
    const value = Object.hasOwn(parameters, parameter) ? parameters[parameter] : undefined;
    if (value !== undefined && value !== null && value !== '') continue;
    const written = [...misspelled].find(([, meant]) => meant === parameter)?.[0];
    const remedy =
      written === undefined
        ? 'fill it in'
        : `"${written}" is not a parameter of ${type}; did you mean "${parameter}"?`;
    if (written !== undefined) misspelled.delete(written);
    const message = `the parameter "${parameter}" is missing: ${remedy}`;
    report({ component, at: ['parameters', parameter], code: 'missing-parameter', message, level: 'error' });
  }
  const level = definition.kind === 'orchestration' && definition.checks === true ? 'error' : 'warning';
  for (const [written, meant] of misspelled) {
    const message = `"${written}" is not a parameter of ${type}; did you mean "${meant}"?`;
    report({ component, at: ['parameters', written], code: 'misspelled-parameter', message, level });
  }
}

/** Returns each misspelled parameter with the parameter that it probably means. */
function findMisspelledParameters(
  parameters: PlainMap,
  definition: ComponentDefinition,
): Map<string, string> {
  const known = [...definition.required, ...definition.optional];
  const absent = known.filter((name) => !Object.hasOwn(parameters, name));
  const unknown = Object.keys(parameters).filter((name) => !known.includes(name));
  const misspelled = new Map<string, string>();
  for (const name of unknown.slice(0, unknownParameterLimit)) {
    const meant = findNearestName(name, absent) ?? findSameBeginning(name, absent);
    if (meant !== undefined) misspelled.set(name, meant);
  }
  return misspelled;
}

function findSameBeginning(written: string, names: readonly string[]): string | undefined {
  const lower = written.toLowerCase();
  return names.find((name) => {
    const [short = '', long = ''] = [lower, name.toLowerCase()].sort(
      (one, other) => one.length - other.length,
    );
    return short.length >= leastBeginning && long.startsWith(short);
  });
}

/** Lists that must not be empty for a component to have an effect. */
const lists: Readonly<Record<string, string>> = {
  'update-scalar': 'scalarsToUpdate',
  'query-to-scalar': 'scalarVariableMapping',
  'print-variables': 'variablesToPrint',
  filter: 'filterConditions',
};

/** Warns about valid components that do nothing. */
export function checkEffect(pipeline: Pipeline, report: Report): void {
  const warn = (draft: Pick<Draft, 'component' | 'at' | 'message'>) =>
    report({ ...draft, code: 'no-effect', level: 'warning' });
  for (const { name: component, type, parameters } of pipeline.components.values()) {
    const list = Object.hasOwn(lists, type) ? lists[type] : undefined;
    if (list === undefined || !isEmptyList(parameters[list])) continue;
    const message = `"${list}" is empty, so the component does nothing: add a row or remove the component`;
    warn({ component, at: ['parameters', list], message });
  }
  if (pipeline.type === 'transformation') return;
  for (const { name: component, type, transitions } of pipeline.components.values()) {
    const others = [...transitions.success, ...transitions.unconditional];
    if (type !== 'start' || transitions.failure.length === 0 || others.length > 0) continue;
    const message = 'start never fails, so its transition "failure" is never taken: use unconditional';
    warn({ component, at: ['transitions', 'failure'], message });
  }
}

function isEmptyList(value: Plain | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}
