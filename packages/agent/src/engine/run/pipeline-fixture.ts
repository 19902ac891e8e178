/** Test fixture: renders pipeline files from components. */

/** The file of an orchestration, as JSON, which is valid YAML. */
export function renderOrchestration(components: Record<string, object>, variables: object = {}): string {
  return JSON.stringify({
    type: 'orchestration',
    version: '1.0',
    pipeline: { components, variables },
    design: {},
  });
}
export function renderTransformation(components: Record<string, object>, variables: object = {}): string {
  return JSON.stringify({
    type: 'transformation',
    version: '1.0',
    pipeline: { components, variables },
    design: {},
  });
}
export const text = (defaultValue: string, scope = 'COPIED', visibility = 'PUBLIC') => ({
  metadata: { type: 'TEXT', description: '', scope, visibility },
  defaultValue,
});
export const number = (defaultValue: string, scope = 'COPIED') => ({
  metadata: { type: 'NUMBER', description: '', scope, visibility: 'PUBLIC' },
  defaultValue,
});
export const grid = (columns: Record<string, string>, defaultValue: unknown[][]) => ({
  metadata: {
    type: 'GRID',
    description: '',
    scope: 'COPIED',
    visibility: 'PUBLIC',
    columns: Object.fromEntries(Object.entries(columns).map(([name, columnType]) => [name, { columnType }])),
  },
  defaultValue,
});
export const start = (...unconditional: string[]) => ({
  type: 'start',
  parameters: {},
  transitions: { unconditional },
});
export const print = (...names: string[]) => ({
  type: 'print-variables',
  parameters: { variablesToPrint: names.map((name) => [name]), includeVariableName: 'Yes' },
});
export const update = (variable: string, expression: string) => ({
  type: 'update-scalar',
  parameters: { scalarsToUpdate: [[variable, `\${${expression}}`]] },
});
