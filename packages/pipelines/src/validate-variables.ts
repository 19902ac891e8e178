/** Finds undeclared variables and wrong uses of variables, as far as possible without a run. */
import { renameParameters } from './components/declared-parameters.ts';
import { findDefinition } from './components/registry.ts';
import type { Notes, VariableUse } from './finding.ts';
import type { OrchestrationComponent, Pipeline, Plain, PlainMap } from './pipeline.ts';
import { findSecretNames, findSecretOfDefault } from './secret-calls.ts';
import { splitTemplate, TemplateError } from './template.ts';
import { isAdvanced } from './validate-conditions.ts';
import { createDeclaredVariable, VariableError } from './variables.ts';

/** Names that an expression knows without a variable: JavaScript's and Headgate's. */
const ownNames = new Set([
  ...['true', 'false', 'null', 'this', 'undefined', 'NaN', 'Infinity', 'globalThis', 'sysvar', 'secret'],
  ...[
    'Array',
    'BigInt',
    'Boolean',
    'Date',
    'JSON',
    'Map',
    'Math',
    'Number',
    'Object',
    'RegExp',
    'Set',
    'String',
  ],
]);

/** Only an expression that is a single name is checked as a variable. */
export function checkExpressions(
  component: string,
  value: Plain,
  pipeline: Pipeline,
  notes: Notes,
  at: readonly string[] = ['parameters'],
): void {
  if (typeof value === 'object' && value !== null) {
    if (!Array.isArray(value)) checkFromGrid(component, value as PlainMap, pipeline, notes, at);
    for (const [name, inner] of Object.entries(value)) {
      const inside = Array.isArray(value) ? at : [...at, name];
      checkExpressions(component, inner as Plain, pipeline, notes, inside);
    }
    return;
  }
  if (typeof value !== 'string' || !value.includes('${')) return;
  try {
    for (const segment of splitTemplate(value)) {
      if (!('expression' in segment)) continue;
      const name = /^\s*([A-Za-z_$][\w$]*)\s*$/.exec(segment.expression)?.[1];
      if (name !== undefined) checkVariable({ component, at }, name, pipeline, notes);
      checkSecrets(component, [segment.expression], notes);
    }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const message = `${error.message}: close it`;
    notes.report({ component, at, code: 'unclosed-expression', message, level: 'error' });
  }
}

function checkFromGrid(
  component: string,
  { fromGrid }: PlainMap,
  pipeline: Pipeline,
  notes: Notes,
  at: readonly string[],
): void {
  if (typeof fromGrid !== 'object' || fromGrid === null) return;
  const { variable } = fromGrid as PlainMap;
  if (typeof variable === 'string') checkVariable({ component, at }, variable, pipeline, notes, 'grid');
}

/** Checks expressions that are written without `${…}`. */
export function checkBareExpressions(component: OrchestrationComponent, notes: Notes): void {
  const { name, type, parameters, updateScalarVariables } = component;
  const afterwards = updateScalarVariables.map(([, expression]) => expression);
  const bare = (texts: readonly string[]) => texts.filter((text) => !text.includes('${'));
  if (type === 'update-scalar') checkSecrets(name, bare(secondCells(parameters.scalarsToUpdate)), notes);
  if (type === 'if' && typeof parameters.condition1 === 'string')
    checkSecrets(name, bare([parameters.condition1]), notes);
  checkSecrets(name, afterwards, notes);
}

/** Checks default values: references to secrets, and values that do not fit their variable. */
export function checkDefaults(pipeline: Pipeline, notes: Notes): void {
  for (const declaration of pipeline.variables.values()) {
    const at = ['pipeline', 'variables', declaration.name, 'defaultValue'];
    const secret = findSecretOfDefault(declaration.defaultValue);
    if (secret !== undefined) {
      notes.ask({ asks: 'secret', at, name: secret });
      continue;
    }
    try {
      createDeclaredVariable(declaration);
    } catch (error) {
      if (!(error instanceof VariableError)) throw error;
      const message = `the default value is invalid: ${error.message}: correct it`;
      notes.report({ at, code: 'invalid-default-value', message, level: 'error' });
    }
  }
}

function checkSecrets(component: string, expressions: readonly string[], notes: Notes): void {
  for (const name of new Set(expressions.flatMap(findSecretNames)))
    notes.ask({ asks: 'secret', component, name });
}

/** `as`: the kind of variable that is needed; undefined if any will do. */
function checkVariable(
  place: { component: string; at: readonly string[] },
  name: string,
  pipeline: Pipeline,
  notes: Notes,
  as?: VariableUse,
): void {
  if (name.includes('${')) return;
  const declared = pipeline.variables.get(name);
  if (declared === undefined) {
    if (as !== undefined || !ownNames.has(name)) notes.ask({ ...place, asks: 'variable', name });
    return;
  }
  if (as === undefined || (declared.type === 'GRID') === (as === 'grid')) return;
  const message = `the variable "${name}" is ${declared.type}, but a ${as} variable is needed: name another variable`;
  notes.report({ ...place, code: 'variable-type', message, level: 'error' });
}

export function cells(rows: Plain | undefined, index: number): string[] {
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: Plain) =>
    Array.isArray(row) && typeof row[index] === 'string' ? [row[index] as string] : [],
  );
}
export const secondCells = (rows: Plain | undefined) => cells(rows, 1);

/** A parameter that names variables, and what they must be. */
type Named = readonly [parameter: string, names: readonly string[], as: VariableUse | undefined];

/**
 * The variables that a component names beside its expressions: those that it changes, and those that it
 * reads.
 */
function namedVariables({ parameters: written, type }: OrchestrationComponent): Named[] {
  const table = findDefinition(type)?.parameters ?? {};
  const parameters = renameParameters(written, table);
  return Object.entries(table).flatMap(([name, { kind, variable }]): Named[] => {
    if (variable === undefined || (name === 'condition' && isAdvanced(parameters))) return [];
    const value = parameters[name];
    if (variable.cell !== undefined) return [[name, cells(value, variable.cell), variable.as]];
    if (kind !== 'text') return [[name, namesOf(value), variable.as]];
    return [[name, typeof value === 'string' && value !== '' ? [value] : [], variable.as]];
  });
}

/** `[a, b]`, or rows of one cell. */
function namesOf(list: Plain | undefined): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((each: Plain) => (typeof each === 'string' ? [each] : cells([each], 0)));
}

export function checkNamedVariables(
  component: OrchestrationComponent,
  pipeline: Pipeline,
  notes: Notes,
): void {
  const { name, updateScalarVariables: updates } = component;
  for (const [variable] of updates)
    checkVariable({ component: name, at: ['postProcessing'] }, variable, pipeline, notes, 'scalar');
  for (const [parameter, variables, as] of namedVariables(component))
    for (const variable of variables)
      checkVariable({ component: name, at: ['parameters', parameter] }, variable, pipeline, notes, as);
  checkGridColumns(component, pipeline, notes);
}

/** Columns that a message names. */
const namedColumns = 20;

/** Checks the columns of a grid that the pipeline itself declares. */
function checkGridColumns(
  { name, type, parameters }: OrchestrationComponent,
  pipeline: Pipeline,
  notes: Notes,
): void {
  if (type !== 'grid-iterator' || typeof parameters.gridVariable !== 'string') return;
  const grid = pipeline.variables.get(parameters.gridVariable);
  if (grid?.type !== 'GRID') return;
  const columns = new Set(grid.columns.map((column) => column.name));
  const named = [...columns].slice(0, namedColumns).join(', ');
  for (const column of cells(parameters.gridIteratorVariableMapping, 0)) {
    if (columns.has(column) || column.includes('${')) continue;
    const message = `the grid variable "${grid.name}" has no column "${column}": use one of ${named}${columns.size > namedColumns ? ', …' : ''}`;
    const at = ['parameters', 'gridIteratorVariableMapping'];
    notes.report({ component: name, at, code: 'variable-type', message, level: 'error' });
  }
}
