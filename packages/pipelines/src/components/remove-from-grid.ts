/** Removes rows of a grid variable by their keys. */
import { ParameterError } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Grid, GridRows } from '../expressions/variables.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  namesParameter,
  rowsParameter,
  textParameter,
} from './definition/declared-parameters.ts';
import { findGridColumn } from './query-to-grid.ts';

export const removeFromGrid: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Removes the rows of a grid variable whose keys are among the given ones, or are not.',
  group: 'variables',
  parameters: {
    targetGridVariable: textParameter('The grid variable.', { required: true, variable: { as: 'grid' } }),
    operation: choiceParameter(
      'In: remove rows whose key is in `valuesGrid`. Not In: remove all others.',
      ['In', 'Not In'],
      { standard: 'In' },
    ),
    keyColumns: namesParameter('The columns of the grid that make the key.', { required: true }),
    valuesGrid: rowsParameter(
      'The keys: rows with one value for each key column, or for each column of the grid.',
      ['value', '…?'],
    ),
  },
  example: `type: remove-from-grid
parameters:
  targetGridVariable: tables
  operation: In
  keyColumns: [name]
  valuesGrid:
    - [orders]`,
  plan({ parameters }) {
    const grid = parameters.text('targetGridVariable');
    const removed = parameters.choice('operation', { In: true, 'Not In': false }, true);
    const keys = parameters.names('keyColumns');
    if (keys.length === 0) throw new ParameterError('"keyColumns" is empty: name a column of the grid');
    const values = parameters.rows('valuesGrid', 1);
    return {
      action: 'change-grid',
      grid,
      change: (current) => removeRows({ ...current, name: grid }, keys, values, removed),
    };
  },
};

function removeRows(
  grid: Grid & { name: string },
  keys: readonly string[],
  values: readonly (readonly Resolved[])[],
  removed: boolean,
): GridRows {
  const indexes = keys.map((key) => findGridColumn(grid, key));
  const renderKey = (row: readonly unknown[], cells: readonly number[]) =>
    JSON.stringify(
      indexes.map((index, key) => renderCell(row[cells[key] ?? key], grid.columns[index]?.type)),
    );
  const rowKeys = new Set(
    values.map((row, index) => {
      if (row.length === keys.length) return renderKey(row, [...keys.keys()]);
      if (row.length === grid.columns.length) return renderKey(row, indexes);
      throw new ParameterError(
        `row ${index + 1} of "valuesGrid" has ${row.length} values, but there are ${keys.length} key columns (${keys.join(', ')}): give one value for each`,
      );
    }),
  );
  return grid.rows.filter((row) => rowKeys.has(renderKey(row, indexes)) !== removed);
}

/** The same text for equal cells. Numbers are equal if their values are; an empty cell is an empty text. */
function renderCell(cell: unknown, type: string | undefined): string {
  const text = cell === null || cell === undefined ? '' : String(cell);
  return type === 'NUMBER' && text.trim() !== '' ? String(Number(text)) : text;
}
