/** Variables that pipelines use but nobody declares, as far as that can be decided without running them. */
import type { Project, Report } from './finding.ts';
import type { Orchestration, OrchestrationComponent, Pipeline, Plain } from './pipeline.ts';
import { splitTemplate, TemplateError } from './template.ts';

/** Only expressions that are a single name are decided; what the project declares may not be known here. */
export function checkExpressions(
  component: string,
  value: Plain,
  pipeline: Pipeline,
  project: Project,
  report: Report,
): void {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value))
      checkExpressions(component, inner as Plain, pipeline, project, report);
    return;
  }
  if (typeof value !== 'string' || !value.includes('${')) return;
  try {
    for (const segment of splitTemplate(value)) {
      const name =
        'expression' in segment ? /^\s*([A-Za-z_$][\w$]*)\s*$/.exec(segment.expression)?.[1] : undefined;
      if (name !== undefined) checkVariable(component, name, pipeline, project, report);
    }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    report({ component, code: 'unclosed-expression', message: error.message, level: 'error' });
  }
}

export function checkVariable(
  component: string,
  name: string,
  pipeline: Pipeline,
  project: Project,
  report: Report,
): void {
  if (pipeline.variables.has(name) || project.variables.has(name) || name === 'sysvar') return;
  const message = `the pipeline declares no variable "${name}": declare it here or in the project`;
  report({ component, code: 'undeclared-variable', message, level: 'warning' });
}

export function cells(rows: Plain | undefined, index: number): string[] {
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: Plain) =>
    Array.isArray(row) && typeof row[index] === 'string' ? [row[index] as string] : [],
  );
}
export const secondCells = (rows: Plain | undefined) => cells(rows, 1);

export function checkUpdates(
  component: OrchestrationComponent,
  orchestration: Orchestration,
  project: Project,
  report: Report,
): void {
  const { parameters, type, name } = component;
  const updated = component.updateScalarVariables.map(([variable]) => variable);
  if (type === 'update-scalar') updated.push(...cells(parameters.scalarsToUpdate, 0));
  if (type === 'query-to-scalar') updated.push(...cells(parameters.scalarVariableMapping, 0));
  if (type === 'grid-iterator') updated.push(...secondCells(parameters.gridIteratorVariableMapping));
  for (const variable of updated) checkVariable(name, variable, orchestration, project, report);
}
