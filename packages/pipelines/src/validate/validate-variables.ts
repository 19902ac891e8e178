/** Finds undeclared variables and wrong uses of variables, as far as possible without a run. */
import { renameParameters } from '../components/definition/declared-parameters.ts';
import { findDefinedType, findDefinition } from '../components/registry.ts';
import { findSecretNames, findSecretOfDefault } from '../expressions/secret-calls.ts';
import { createDeclaredVariable, isTemplate, VariableError } from '../expressions/variables.ts';
import type { OrchestrationComponent, Pipeline, Plain, PlainMap } from '../format/pipeline.ts';
import { shorten, splitTemplate, TemplateError } from '../format/template.ts';
import type { Notes, VariableUse } from './finding.ts';
import { isAdvanced } from './validate-conditions.ts';

/** `component` is absent if the place is a variable's default. */
interface Place {
  readonly component?: string;
  readonly at: readonly string[];
}

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
  checkTemplates({ component, at }, value, pipeline, notes);
}

/** Checks the texts in a value. */
function checkTemplates(place: Place, value: Plain, pipeline: Pipeline, notes: Notes): void {
  if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value) as Plain[]) checkTemplates(place, inner, pipeline, notes);
  if (typeof value !== 'string' || !value.includes('${')) return;
  try {
    for (const segment of splitTemplate(value)) {
      if (!('expression' in segment)) continue;
      const name = /^\s*([A-Za-z_$][\w$]*)\s*$/.exec(segment.expression)?.[1];
      if (name !== undefined) checkVariable(place, name, pipeline, notes);
      checkSecrets(place, [segment.expression], notes);
    }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const message = `${error.message}: close it`;
    notes.report({ ...place, code: 'unclosed-expression', message, level: 'error' });
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

/** Checks the expression of an `if`, which is written without `${…}`, and the values of updates. */
export function checkOwnExpressions(
  component: OrchestrationComponent,
  pipeline: Pipeline,
  notes: Notes,
): void {
  const { name, type, parameters, updateScalarVariables, updateGridVariables, outputMessage } = component;
  if (type === 'if' && typeof parameters.condition1 === 'string')
    checkSecrets({ component: name }, [parameters.condition1], notes);
  if (type === 'update-scalar') {
    const at = ['parameters', 'scalarsToUpdate'];
    const values = secondCells(parameters.scalarsToUpdate);
    checkTemplates({ component: name, at }, values, pipeline, notes);
    for (const value of values) checkLiteral({ component: name, at }, value, pipeline, notes);
  }
  const at = ['postProcessing'];
  const values = updateScalarVariables.map(([, value]) => value);
  checkTemplates({ component: name, at }, [...values, outputMessage ?? ''], pipeline, notes);
  for (const { rows } of updateGridVariables) {
    checkTemplates({ component: name, at }, rows, pipeline, notes);
    if (typeof rows === 'object' && rows !== null && !Array.isArray(rows))
      checkFromGrid(name, rows as PlainMap, pipeline, notes, at);
  }
  for (const value of values) checkLiteral({ component: name, at }, value, pipeline, notes);
}

/** A value that looks like an expression but is a text. */
function checkLiteral(place: Place, value: string, pipeline: Pipeline, notes: Notes): void {
  if (value.includes('${')) return;
  const names = value.match(/[A-Za-z_$][\w$]*/g) ?? [];
  const isName = pipeline.variables.has(value.trim());
  const isComputed = /[-+*/?()[\]]/.test(value) && names.some((name) => pipeline.variables.has(name));
  if (!isName && !isComputed && findSecretNames(value).length === 0) return;
  const message = `"${shorten(value)}" is a text, because it has no \${…}: write \${${shorten(value)}} to evaluate it`;
  notes.report({ ...place, code: 'literal-value', message, level: 'warning' });
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
    if (isTemplate(declaration.defaultValue)) {
      checkTemplates({ at }, declaration.defaultValue, pipeline, notes);
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

export function checkSecrets(
  { component }: Partial<Place>,
  expressions: readonly string[],
  notes: Notes,
): void {
  for (const name of new Set(expressions.flatMap(findSecretNames)))
    notes.ask({ asks: 'secret', ...(component === undefined ? {} : { component }), name });
}

/** `as`: the kind of variable that is needed; undefined if any will do. */
function checkVariable(place: Place, name: string, pipeline: Pipeline, notes: Notes, as?: VariableUse): void {
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

/** The variables that each iteration of an iterator sets. */
export function listIterationVariables(component: OrchestrationComponent): string[] {
  return namedVariables(component).flatMap(([, names, as]) => (as === 'scalar' ? names : []));
}

export function checkNamedVariables(
  component: OrchestrationComponent,
  pipeline: Pipeline,
  notes: Notes,
): void {
  const { name, updateScalarVariables, updateGridVariables } = component;
  const after = { component: name, at: ['postProcessing'] };
  for (const [variable] of updateScalarVariables) checkVariable(after, variable, pipeline, notes, 'scalar');
  for (const { variable } of updateGridVariables) checkVariable(after, variable, pipeline, notes, 'grid');
  for (const [parameter, variables, as] of namedVariables(component))
    for (const variable of variables)
      checkVariable({ component: name, at: ['parameters', parameter] }, variable, pipeline, notes, as);
  checkGridColumns(component, pipeline, notes);
}

/** Columns that a message names. */
const namedColumns = 20;

/** A parameter that names columns of a grid, by component type. */
const gridColumns: Readonly<
  Record<string, { grid: string; at: string; list(value: Plain | undefined): string[] }>
> = {
  'grid-iterator': {
    grid: 'gridVariable',
    at: 'gridIteratorVariableMapping',
    list: (rows) => cells(rows, 0),
  },
  'query-to-grid': { grid: 'gridVariable', at: 'gridVariableMapping', list: secondCells },
  'remove-from-grid': { grid: 'targetGridVariable', at: 'keyColumns', list: namesOf },
};

/** Checks the columns of a grid that the pipeline itself declares. */
function checkGridColumns(
  { name, type, parameters }: OrchestrationComponent,
  pipeline: Pipeline,
  notes: Notes,
): void {
  const defined = findDefinedType(type) ?? type;
  const checked = Object.hasOwn(gridColumns, defined) ? gridColumns[defined] : undefined;
  const named = checked === undefined ? undefined : parameters[checked.grid];
  if (checked === undefined || typeof named !== 'string') return;
  const grid = pipeline.variables.get(named);
  if (grid?.type !== 'GRID') return;
  const columns = new Set(grid.columns.map((column) => column.name));
  const known = [...columns].slice(0, namedColumns).join(', ');
  for (const column of checked.list(parameters[checked.at])) {
    if (columns.has(column) || column.includes('${')) continue;
    const message = `the grid variable "${grid.name}" has no column "${column}": use one of ${known}${columns.size > namedColumns ? ', …' : ''}`;
    const at = ['parameters', checked.at];
    notes.report({ component: name, at, code: 'variable-type', message, level: 'error' });
  }
}
