/** Splits a text into columns. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter, textParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { getOnlySource, isSameName } from './definition/plan-parts.ts';
import { addColumns } from './projection.ts';

export const splitField: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Splits the text of a column into columns. A part that is missing is empty.',
  group: 'transform',
  parameters: {
    inputColumn: textParameter('The column.', { required: true }),
    delimiter: textParameter('What stands between the parts.', { required: true }),
    outputColumns: rowsParameter(
      'The new columns, in the order of the parts: `[column]`, or `[part, column]` with the number of the part from 0.',
      ['part or column', 'column?'],
      { required: true },
    ),
    includeInputColumn: yesNoParameter('Whether the column itself is kept.', 'Yes', {
      otherNames: ['includeInputColumns'],
    }),
  },
  example: `type: split-field
sources: [People]
parameters:
  inputColumn: full name
  delimiter: " "
  outputColumns:
    - ["0", first name]
    - ["1", last name]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const column = parameters.text('inputColumn');
    const delimiter = dialect.literal(parameters.text('delimiter'));
    const parts = parameters.rows('outputColumns', 1).map((row, index) => {
      const { name, part } = readOutput(row, index);
      return {
        name,
        sql: `split_part(CAST(${dialect.name(column)} AS ${dialect.text}), ${delimiter}, ${part + 1})`,
      };
    });
    if (parts.length === 0) throw new ParameterError('"outputColumns" is empty: add a column');
    if (parameters.yes('includeInputColumn', true)) return addColumns(source, parts, true, dialect);
    const isReplaced = parts.some(({ name }) => isSameName(name, column));
    const all = addColumns(
      source,
      isReplaced ? parts : [...parts, { name: column, sql: 'NULL' }],
      true,
      dialect,
    );
    if (isReplaced) return all;
    const { select, columns } = all;
    return {
      select: `SELECT ${dialect.columnsWithout(columns, column)} FROM (\n${select}\n) AS "split"`,
      columns: columns?.filter((column) => !isSameName(column, column)),
    };
  },
};

/** `[column]`, `[column, size]` or `[part, column]`: a size is a number, and a column rarely is one. */
function readOutput(row: readonly Resolved[], index: number): { name: string; part: number } {
  const [first, second] = [readCellText(row, 0), readCellText(row, 1)];
  const isPart = /^\d{1,4}$/.test(first) && second !== '' && !/^\d+$/.test(second);
  return isPart ? { name: second, part: Number(first) } : { name: first, part: index };
}
