/** Rows that are written in the pipeline file. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter } from './definition/declared-parameters.ts';

export const fixedFlow: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Rows that are written in the pipeline file.',
  group: 'read',
  parameters: {
    columns: rowsParameter('The columns.', ['name', 'type', 'size?', 'precision?'], { required: true }),
    values: rowsParameter('The rows. An empty cell is NULL, except in a text column.', ['value', '…']),
  },
  example: `type: fixed-flow
parameters:
  columns:
    - [country, VARCHAR]
    - [rate, NUMBER, "4", "2"]
  values:
    - [DE, "0.19"]
    - [FR, "0.20"]`,
  sources: [0, 0],
  plan({ parameters, dialect }) {
    const columns = parameters.rows('columns', 2).map((column) => ({
      name: readCellText(column, 0),
      type: dialect.type({
        type: readCellText(column, 1),
        size: readCellText(column, 2),
        precision: readCellText(column, 3),
      }),
    }));
    if (columns.length === 0) throw new ParameterError('"columns" is empty: add a column');
    const names = columns.map((column) => column.name);
    const rows = parameters.rows('values', 1).map((row, index) => {
      if (row.length > columns.length) {
        throw new ParameterError(
          `row ${index + 1} of "values" has ${row.length} cells, but "columns" has ${columns.length} columns: remove cells or add columns`,
        );
      }
      return columns.map(({ type }, cell) => renderTypedLiteral(row[cell], type, dialect));
    });
    const empty = columns
      .map(({ name, type }) => `CAST(NULL AS ${type}) AS ${dialect.name(name)}`)
      .join(', ');
    return {
      select:
        rows.length === 0 ? `SELECT ${empty} WHERE FALSE` : `SELECT * FROM ${dialect.listRows(rows, names)}`,
      columns: names,
    };
  },
};

/** An empty cell is NULL, except in a text column. */
function renderTypedLiteral(cell: Resolved | undefined, type: string, dialect: Dialect): string {
  if (cell === undefined || cell === null) return `CAST(NULL AS ${type})`;
  if (typeof cell === 'object')
    throw new ParameterError('a cell of "values" must be a single value, not a list or a map');
  return cell === '' && !/^VARCHAR\b/.test(type)
    ? `CAST(NULL AS ${type})`
    : dialect.cast(dialect.literal(cell), type, false);
}
