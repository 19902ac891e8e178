/** Makes columns of rows, and rows of columns. */
import { ParameterError, readCellText } from '../parameters.ts';
import { renderAggregate } from './aggregate-functions.ts';
import { getOnlySource, isSameName, type TransformationDefinition } from './component.ts';
import { namesParameter, rowsParameter, textParameter, yesNoParameter } from './declared-parameters.ts';

export const pivot: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Makes a column of each value of `valueColumn`, with the aggregate of `pivotColumn`. All other columns are the groups.',
  group: 'transform',
  parameters: {
    aggregateFunction: textParameter('The function, as in aggregate.', { standard: 'Sum' }),
    pivotColumn: textParameter('The column that is aggregated.', { required: true }),
    valueColumn: textParameter('The column whose values become columns.', { required: true }),
    pivotValues: namesParameter('Its values.', { required: true }),
    quotePivotValueColumns: yesNoParameter(
      "Whether the names of the new columns have single quotes, as in `'Berlin'`.",
      'No',
    ),
  },
  example: `type: pivot
sources: [Sales]
parameters:
  aggregateFunction: Sum
  pivotColumn: amount
  valueColumn: city
  pivotValues: [Berlin, Paris]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const [aggregated, label] = [parameters.text('pivotColumn'), parameters.text('valueColumn')];
    const isQuoted = parameters.yes('quotePivotValueColumns', false);
    const values = parameters.names('pivotValues').map((written) => {
      const [, text = written] = /^'(.*)'$/s.exec(written) ?? [];
      return { text, name: isQuoted ? `'${text}'` : text };
    });
    if (values.length === 0) throw new ParameterError('"pivotValues" is empty: list the values');
    const list = values.map(({ text, name }) => `${dialect.literal(text)} AS ${dialect.name(name)}`);
    const aggregate = renderAggregate(
      parameters.optionalText('aggregateFunction') ?? 'Sum',
      dialect.name(aggregated),
    );
    const groups = source.columns?.filter(
      (column) => !isSameName(column, aggregated) && !isSameName(column, label),
    );
    // The labels are compared as texts, so that a number or a date can be one.
    const text = `CAST(${dialect.name(label)} AS VARCHAR)`;
    return {
      select: `SELECT * FROM (SELECT * REPLACE (${text} AS ${dialect.name(label)}) FROM ${source.name})\nPIVOT (${aggregate} FOR ${dialect.name(label)} IN (${list.join(', ')}))`,
      columns: groups && [...groups, ...values.map(({ name }) => name)],
    };
  },
};

export const unpivot: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Makes a row of each of some columns: its name and its value. A value that is NULL gives no row.',
  group: 'transform',
  parameters: {
    columnsToNarrow: namesParameter('The columns.', { required: true }),
    outputNamesColumnName: textParameter('The column with the names.', { required: true }),
    outputValuesColumnName: textParameter('The column with the values.', { required: true }),
  },
  example: `type: unpivot
sources: [Sales by city]
parameters:
  columnsToNarrow: [Berlin, Paris]
  outputNamesColumnName: city
  outputValuesColumnName: amount`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const narrowed = parameters.names('columnsToNarrow');
    if (narrowed.length === 0) throw new ParameterError('"columnsToNarrow" is empty: name the columns');
    const name = parameters.text('outputNamesColumnName');
    const value = parameters.text('outputValuesColumnName');
    const kept = source.columns?.filter((column) => !narrowed.some((each) => isSameName(each, column)));
    return {
      select: `SELECT * FROM ${source.name}\nUNPIVOT (${dialect.name(value)} FOR ${dialect.name(name)} IN (${narrowed.map(dialect.name).join(', ')}))`,
      columns: kept && [...kept, name, value],
    };
  },
};

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
