/** Splits a text into columns. */
import { ParameterError, readCellText } from '../parameters.ts';
import { getOnlySource, isSameName, type TransformationDefinition } from './component.ts';
import { rowsParameter, textParameter, yesNoParameter } from './declared-parameters.ts';
import { addColumns } from './projection.ts';

export const splitField: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Splits the text of a column into columns. A part that is missing is empty.',
  group: 'transform',
  parameters: {
    inputColumn: textParameter('The column.', { required: true }),
    delimiter: textParameter('What stands between the parts.', { required: true }),
    outputColumns: rowsParameter('The new columns, in the order of the parts.', ['column', 'size?'], {
      required: true,
    }),
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
    - [first name, "50"]
    - [last name, "50"]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const input = parameters.text('inputColumn');
    const delimiter = dialect.literal(parameters.text('delimiter'));
    const parts = parameters.rows('outputColumns', 1).map((row, index) => ({
      name: readCellText(row, 0),
      sql: `split_part(CAST(${dialect.name(input)} AS VARCHAR), ${delimiter}, ${index + 1})`,
    }));
    if (parts.length === 0) throw new ParameterError('"outputColumns" is empty: add a column');
    if (parameters.yes('includeInputColumn', true)) return addColumns(source, parts, true, dialect);
    const isReplaced = parts.some(({ name }) => isSameName(name, input));
    const all = addColumns(
      source,
      isReplaced ? parts : [...parts, { name: input, sql: 'NULL' }],
      true,
      dialect,
    );
    if (isReplaced) return all;
    const { select, columns } = all;
    return {
      select: `SELECT * EXCLUDE (${dialect.name(input)}) FROM (\n${select}\n)`,
      columns: columns?.filter((column) => !isSameName(column, input)),
    };
  },
};
