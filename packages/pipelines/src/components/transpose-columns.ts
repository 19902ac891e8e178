/** Makes rows of groups of columns. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { namesParameter, rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';

export const transposeColumns: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Makes a row of each group of columns. Each row has a label.',
  group: 'transform',
  parameters: {
    ordinaryColumns: namesParameter('The columns that every row keeps.'),
    rowLabelName: textParameter('The column with the labels.', { required: true }),
    outputColumns: rowsParameter('The new columns.', ['column', 'type', 'size?', 'precision?'], {
      required: true,
    }),
    columnToRowMapping: rowsParameter(
      'The rows: the label, then a column of the source for each new column.',
      ['label', 'column', '…'],
      { required: true },
    ),
  },
  example: `type: transpose-columns
sources: [Sales by quarter]
parameters:
  ordinaryColumns: [customer]
  rowLabelName: quarter
  outputColumns:
    - [amount, NUMBER]
  columnToRowMapping:
    - [first, q1]
    - [second, q2]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const ordinary = parameters.names('ordinaryColumns');
    const label = parameters.text('rowLabelName');
    const outputs = parameters.rows('outputColumns', 1).map((row) => ({
      name: readCellText(row, 0),
      type: readCellText(row, 1),
      size: readCellText(row, 2),
      precision: readCellText(row, 3),
    }));
    const selects = parameters.rows('columnToRowMapping', 1 + outputs.length).map((row) => {
      const values = outputs.map((output, index) => {
        const column = dialect.name(readCellText(row, index + 1));
        const value = output.type === '' ? column : `CAST(${column} AS ${dialect.type(output)})`;
        return `${value} AS ${dialect.name(output.name)}`;
      });
      const text = `${dialect.literal(readCellText(row, 0))} AS ${dialect.name(label)}`;
      return `SELECT ${[...ordinary.map(dialect.name), text, ...values].join(', ')} FROM ${source.name}`;
    });
    if (selects.length === 0 || outputs.length === 0)
      throw new ParameterError('"outputColumns" or "columnToRowMapping" is empty: add a row');
    return {
      select: selects.join('\nUNION ALL\n'),
      columns: [...ordinary, label, ...outputs.map(({ name }) => name)],
    };
  },
};
