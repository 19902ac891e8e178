/** Writes variables to the run's log. */
import { type Grid, isGrid, missingVariable, VariableError, type VariableValue } from '../variables.ts';
import type { OrchestrationDefinition } from './component.ts';

/** Rows of a grid that are printed; the rest is counted. */
const printedRows = 20;

export const printVariables: OrchestrationDefinition = {
  kind: 'orchestration',
  required: ['variablesToPrint'],
  optional: ['prefixText', 'includeVariableName'],
  plan({ parameters, scope }) {
    const prefix = parameters.optionalText('prefixText') ?? '';
    const withName = parameters.yes('includeVariableName', true);
    const lines = parameters.names('variablesToPrint').map((name) => {
      const variable = scope.get(name);
      if (variable === undefined) throw new VariableError(missingVariable(name));
      return `${prefix}${withName ? `${name} = ` : ''}${printed(variable.value)}`;
    });
    return { action: 'print', lines };
  },
  check({ parameters }) {
    parameters.names('variablesToPrint');
    parameters.yes('includeVariableName', true);
  },
};

function printed(value: VariableValue): string {
  return isGrid(value) ? printedGrid(value) : String(value ?? '');
}

function printedGrid({ columns, rows }: Grid): string {
  const shown = rows.slice(0, printedRows).map((row) => JSON.stringify(row));
  const more = rows.length > printedRows ? [`… ${rows.length - printedRows} rows more`] : [];
  return [`[${columns.map((column) => column.name).join(', ')}]`, ...shown, ...more].join(' ');
}
