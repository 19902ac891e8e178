/** Writes variables to the log of the run. */
import {
  describeMissingVariable,
  type Grid,
  isGrid,
  VariableError,
  type VariableValue,
} from '../expressions/variables.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { namesParameter, textParameter, yesNoParameter } from './definition/declared-parameters.ts';

/** Rows of a grid that are printed. The rest is counted. */
const printedRows = 20;

export const printVariables: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Writes variables to the log of the run.',
  group: 'variables',
  parameters: {
    variablesToPrint: namesParameter('The variables.', { required: true, variable: {} }),
    prefixText: textParameter('A text before each value.'),
    includeVariableName: yesNoParameter('Whether the name is written before the value.', 'Yes'),
  },
  example: `type: print-variables
parameters:
  variablesToPrint: [customers]
  prefixText: "found: "`,
  plan({ parameters, scope }) {
    const prefix = parameters.optionalText('prefixText') ?? '';
    const withName = parameters.yes('includeVariableName', true);
    const lines = parameters.names('variablesToPrint').map((name) => {
      const variable = scope.get(name);
      if (variable === undefined) throw new VariableError(describeMissingVariable(name));
      return `${prefix}${withName ? `${name} = ` : ''}${formatValue(variable.value)}`;
    });
    return { action: 'print', lines };
  },
  check({ parameters }) {
    parameters.names('variablesToPrint');
    parameters.yes('includeVariableName', true);
  },
};

function formatValue(value: VariableValue): string {
  return isGrid(value) ? formatGrid(value) : String(value ?? '');
}

function formatGrid({ columns, rows }: Grid): string {
  const shown = rows.slice(0, printedRows).map((row) => JSON.stringify(row));
  const more = rows.length > printedRows ? [`… ${rows.length - printedRows} more rows`] : [];
  return [`[${columns.map((column) => column.name).join(', ')}]`, ...shown, ...more].join(' ');
}
