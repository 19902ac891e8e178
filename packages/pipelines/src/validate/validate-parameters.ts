/** Checks the names of parameters: missing, misspelled, and without effect. */
import type { ComponentDefinition } from '../components/definition/component.ts';
import { listParameterNames, renameParameters } from '../components/definition/declared-parameters.ts';
import { findDefinedType } from '../components/registry.ts';
import { findNearestName } from '../format/nearest.ts';
import type { Pipeline, Plain, PlainMap } from '../format/pipeline.ts';
import type { FindingLevel, Report } from './finding.ts';

type Component = { readonly name: string; readonly type: string; readonly parameters: PlainMap };

/** Unknown parameters of one component that are compared with the known ones. */
const unknownParameterLimit = 50;
/** A shorter name is not taken as an abbreviation of a parameter. */
const leastBeginning = 6;

/**
 * Files contain parameters for other warehouses, which have no effect here. An unknown parameter is reported
 * only if its name is close to a known parameter that is absent or empty. It is an error if it has a value,
 * because the component would do something else without it.
 */
export function checkParameterNames(
  { name: component, type, parameters: written }: Component,
  definition: ComponentDefinition,
  report: Report,
): void {
  const parameters = renameParameters(written, definition.parameters);
  const misspelled = findMisspelledParameters(parameters, definition);
  for (const parameter of listParameterNames(definition.parameters, 'required')) {
    const value = parameterOf(parameters, parameter);
    const wrong = [...misspelled].find(([, meant]) => meant === parameter)?.[0];
    // An empty list has a finding of its own, and is valid in some components.
    if (!isEmpty(value) || (isEmptyList(value) && wrong === undefined)) continue;
    const remedy =
      wrong === undefined
        ? 'fill it in'
        : `"${wrong}" is not a parameter of ${type}; did you mean "${parameter}"?`;
    if (wrong !== undefined) misspelled.delete(wrong);
    const message = `the parameter "${parameter}" is missing: ${remedy}`;
    report({ component, at: ['parameters', parameter], code: 'missing-parameter', message, level: 'error' });
  }
  for (const [wrong, meant] of misspelled) {
    const message = `"${wrong}" is not a parameter of ${type}; did you mean "${meant}"?`;
    const level = isEmpty(parameters[wrong]) ? 'warning' : 'error';
    report({ component, at: ['parameters', wrong], code: 'misspelled-parameter', message, level });
  }
}

/** Returns each misspelled parameter with the parameter that it probably means. */
function findMisspelledParameters(
  parameters: PlainMap,
  definition: ComponentDefinition,
): Map<string, string> {
  const known = Object.keys(definition.parameters);
  const { noEffect = [] } = definition;
  const absent = known.filter((name) => isEmpty(parameterOf(parameters, name)));
  const unknown = Object.keys(parameters).filter((name) => !known.includes(name) && !noEffect.includes(name));
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

const idle = 'the component does nothing: add a row or remove the component';

/** Lists that must not be empty for a component to have its effect. */
const nothingRuns = 'no iteration runs: add a row or remove the component';
const lists: Readonly<Record<string, { list: string; level: FindingLevel; comes: string }>> = {
  'fixed-iterator': { list: 'iterationValues', level: 'error', comes: nothingRuns },
  'query-to-grid': { list: 'gridVariableMapping', level: 'error', comes: idle },
  'table-metadata-to-grid': { list: 'gridVariableMapping', level: 'error', comes: idle },
  'append-to-grid': { list: 'valuesGrid', level: 'warning', comes: idle },
  'update-scalar': { list: 'scalarsToUpdate', level: 'error', comes: idle },
  'query-to-scalar': { list: 'scalarVariableMapping', level: 'error', comes: idle },
  'print-variables': { list: 'variablesToPrint', level: 'error', comes: idle },
  filter: { list: 'filterConditions', level: 'warning', comes: idle },
  'grid-iterator': {
    list: 'gridIteratorVariableMapping',
    level: 'warning',
    comes: 'every iteration runs the same: add a row for each column that its target uses',
  },
};

/** Reports components that do nothing: an error if the component has no other effect. */
export function checkEffect(pipeline: Pipeline, report: Report): void {
  for (const component of pipeline.components.values()) {
    const { name, type, parameters } = component;
    const defined = findDefinedType(type) ?? type;
    const found = Object.hasOwn(lists, defined) ? lists[defined] : undefined;
    if (found === undefined || !isEmptyList(parameterOf(parameters, found.list))) continue;
    const { list, level, comes } = found;
    const updates = 'updateScalarVariables' in component && component.updateScalarVariables.length > 0;
    const message = `"${list}" is empty, so ${comes}`;
    const at = ['parameters', list];
    report({ component: name, at, code: 'no-effect', message, level: updates ? 'warning' : level });
  }
  if (pipeline.type === 'transformation') return;
  for (const { name: component, type, transitions } of pipeline.components.values()) {
    const others = [...transitions.success, ...transitions.unconditional];
    if (type !== 'start' || transitions.failure.length === 0 || others.length > 0) continue;
    const message = 'start never fails, so its transition "failure" is never taken: use unconditional';
    report({ component, at: ['transitions', 'failure'], code: 'no-effect', message, level: 'warning' });
  }
}

function parameterOf(parameters: PlainMap, name: string): Plain | undefined {
  return Object.hasOwn(parameters, name) ? parameters[name] : undefined;
}

function isEmpty(value: Plain | undefined): boolean {
  return value === undefined || value === null || value === '' || isEmptyList(value);
}

function isEmptyList(value: Plain | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}
