/** Runs SQL statements, written in the component or in a file of the artifact. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import {
  describeMissingVariable,
  isGrid,
  VariableError,
  type VariableScope,
} from '../expressions/variables.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  namesParameter,
  sqlParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { planScript } from './sql-script.ts';

const locations = { Component: false, File: true };
const declarations = {
  'Include selected': 'selected',
  'Include all': 'all',
  No: 'none',
  None: 'none',
} as const;

export const sqlExecutor: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Runs SQL statements in order. They are written in the component, or in a file of the version.',
  group: 'sql',
  parameters: {
    scriptLocation: choiceParameter('Where the statements are.', Object.keys(locations), {
      standard: 'Component',
    }),
    sqlScript: sqlParameter('Component: the statements, separated by `;`.'),
    fileName: textParameter('File: the path of a file of the version, such as `sql/load.sql`.', {
      file: true,
    }),
    enableVariableResolution: yesNoParameter(
      'Whether expressions in the statements are replaced by their values. No: they stay as they are written.',
      'Yes',
    ),
    declareSqlVariables: choiceParameter(
      'Which scalar variables the statements can use as SQL variables, such as `$name`. Absent: none.',
      ['Include selected', 'Include all'],
    ),
    variablesToInclude: namesParameter('Include selected: the variables.', { variable: { as: 'scalar' } }),
  },
  example: `type: sql-executor
parameters:
  scriptLocation: Component
  declareSqlVariables: Include selected
  variablesToInclude: [region]
  sqlScript: |
    DELETE FROM orders WHERE region = $region;`,
  listLiteral: ({ enableVariableResolution: resolves }) =>
    typeof resolves === 'string' && /^\s*(?:no|false)\s*$/i.test(resolves) ? ['sqlScript'] : [],
  plan({ parameters, dialect, scope }) {
    const declared = declareVariables(parameters, dialect, scope);
    if (!parameters.choice('scriptLocation', locations, locations.Component))
      return { action: 'execute', ...planScript(parameters.text('sqlScript'), dialect, declared) };
    const path = readFileName(parameters);
    return {
      action: 'execute-file',
      path,
      resolve: parameters.yes('enableVariableResolution', true),
      plan: (script) => planScript(script, dialect, declared),
    };
  },
  check({ parameters, dialect }) {
    parameters.choice('declareSqlVariables', declarations, 'none');
    parameters.yes('enableVariableResolution', true);
    if (parameters.choice('scriptLocation', locations, locations.Component)) readFileName(parameters);
    else planScript(parameters.text('sqlScript'), dialect);
  },
};

const readFileName = (parameters: Parameters) =>
  parameters
    .text('fileName')
    .trim()
    .replace(/^\.?\//, '');

/** `SET` statements that declare variables as SQL session variables; '' if there are none. */
function declareVariables(parameters: Parameters, dialect: Dialect, scope: VariableScope): string {
  const which = parameters.choice('declareSqlVariables', declarations, 'none');
  if (which === 'none') return '';
  const names =
    which === 'selected'
      ? parameters.names('variablesToInclude')
      : scope.all().flatMap(({ name, type }) => (type === 'GRID' || !isSqlName(name) ? [] : [name]));
  return names
    .map((name) => `SET ${readSqlName(name)} = ${dialect.literal(readScalar(scope, name))}; `)
    .join('');
}

const isSqlName = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);

function readSqlName(name: string): string {
  if (isSqlName(name)) return name;
  throw new ParameterError(
    `"variablesToInclude" names "${name}", which cannot be an SQL variable: use letters, digits and _`,
  );
}

function readScalar(scope: VariableScope, name: string): string | number | null {
  const variable = scope.get(name);
  if (variable === undefined) throw new VariableError(describeMissingVariable(name));
  if (isGrid(variable.value))
    throw new VariableError(
      `the variable "${name}" is a grid, which cannot be an SQL variable: name a scalar`,
    );
  return variable.value;
}
