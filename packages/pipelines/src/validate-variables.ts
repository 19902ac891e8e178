/** Variables that pipelines use but nobody declares, as far as that can be decided without running them. */
import type { Notes } from './finding.ts';
import type { OrchestrationComponent, Pipeline, Plain } from './pipeline.ts';
import { secretNames, secretOfDefault } from './secret-calls.ts';
import { splitTemplate, TemplateError } from './template.ts';

/** Only expressions that are a single name are decided. */
export function checkExpressions(component: string, value: Plain, pipeline: Pipeline, notes: Notes): void {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) checkExpressions(component, inner as Plain, pipeline, notes);
    return;
  }
  if (typeof value !== 'string' || !value.includes('${')) return;
  try {
    for (const segment of splitTemplate(value)) {
      if (!('expression' in segment)) continue;
      const name = /^\s*([A-Za-z_$][\w$]*)\s*$/.exec(segment.expression)?.[1];
      if (name !== undefined) checkVariable(component, name, pipeline, notes);
      checkSecrets(component, [segment.expression], notes);
    }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    notes.report({ component, code: 'unclosed-expression', message: error.message, level: 'error' });
  }
}

/** Expressions that stand by themselves, outside of `${…}`. */
export function checkBareExpressions(component: OrchestrationComponent, notes: Notes): void {
  const { name, type, parameters, updateScalarVariables } = component;
  const afterwards = updateScalarVariables.map(([, expression]) => expression);
  const bare = (texts: readonly string[]) => texts.filter((text) => !text.includes('${'));
  if (type === 'update-scalar') checkSecrets(name, bare(secondCells(parameters.scalarsToUpdate)), notes);
  if (type === 'if' && typeof parameters.condition1 === 'string')
    checkSecrets(name, bare([parameters.condition1]), notes);
  checkSecrets(name, afterwards, notes);
}

/** Default values that are secrets. */
export function checkDefaults(pipeline: Pipeline, notes: Notes): void {
  for (const { defaultValue } of pipeline.variables.values()) {
    const name = secretOfDefault(defaultValue);
    if (name !== undefined) notes.ask({ asks: 'secret', name });
  }
}

function checkSecrets(component: string, expressions: readonly string[], notes: Notes): void {
  for (const name of new Set(expressions.flatMap(secretNames)))
    notes.ask({ asks: 'secret', component, name });
}

function checkVariable(component: string, name: string, pipeline: Pipeline, notes: Notes): void {
  if (pipeline.variables.has(name) || name.includes('${')) return;
  notes.ask({ asks: 'variable', component, name });
}

export function cells(rows: Plain | undefined, index: number): string[] {
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: Plain) =>
    Array.isArray(row) && typeof row[index] === 'string' ? [row[index] as string] : [],
  );
}
export const secondCells = (rows: Plain | undefined) => cells(rows, 1);

/** The variables that a component names beside its expressions: those that it changes, and those that it reads. */
function namedVariables({ parameters, type, updateScalarVariables }: OrchestrationComponent): string[] {
  const updated = updateScalarVariables.map(([variable]) => variable);
  switch (type) {
    case 'update-scalar':
      return [...updated, ...cells(parameters.scalarsToUpdate, 0)];
    case 'query-to-scalar':
      return [...updated, ...cells(parameters.scalarVariableMapping, 0)];
    case 'print-variables':
      return [...updated, ...cells(parameters.variablesToPrint, 0)];
    case 'if':
      return parameters.mode === 'Advanced' ? updated : [...updated, ...cells(parameters.condition, 0)];
    case 'grid-iterator': {
      const { gridVariable } = parameters;
      const grid = typeof gridVariable === 'string' && gridVariable !== '' ? [gridVariable] : [];
      return [...updated, ...grid, ...secondCells(parameters.gridIteratorVariableMapping)];
    }
    default:
      return updated;
  }
}

export function checkNamedVariables(
  component: OrchestrationComponent,
  pipeline: Pipeline,
  notes: Notes,
): void {
  for (const variable of namedVariables(component)) checkVariable(component.name, variable, pipeline, notes);
}
