/**
 * Writes its source to an existing table. The warehouse casts values to the columns' types whatever
 * `fixDataTypeMismatches` is set to. A value that cannot be cast fails the statement.
 */
import { readCellText } from '../parameters.ts';
import {
  createSingleStatement,
  getOnlySource,
  readTableReference,
  renderOrderBy,
  type TransformationDefinition,
} from './component.ts';
import { choiceParameter, placeParameters, rowsParameter, textParameter } from './declared-parameters.ts';

/** Whether existing rows are replaced. */
const outputModes = { Append: false, 'Truncate and insert': true, Truncate: true, Overwrite: true };

export const tableOutput: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about: 'Writes its source to an existing table.',
  group: 'write',
  parameters: {
    targetTable: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    columnMapping: rowsParameter('Which column goes to which column. None: columns of the same name.', [
      'column',
      'target column',
    ]),
    outputMode: choiceParameter('Whether existing rows are kept.', Object.keys(outputModes), {
      standard: 'Append',
    }),
    orderBy: rowsParameter('The order of the rows.', ['column', 'Ascending or Descending?']),
  },
  noEffect: ['fixDataTypeMismatches', 'catalog'],
  example: `type: table-output
sources: [Totals by customer]
parameters:
  targetTable: totals
  outputMode: Append`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const table = dialect.table(readTableReference(parameters, 'targetTable'));
    const mapping = parameters
      .rows('columnMapping', 2)
      .map((row) => [readCellText(row, 0), readCellText(row, 1)] as const);
    const list = mapping.map(([from, to]) => `${dialect.name(from)} AS ${dialect.name(to)}`);
    const columns = mapping.length === 0 ? undefined : mapping.map(([, to]) => to);
    const replace = parameters.choice('outputMode', outputModes, false);
    return {
      select: `SELECT ${list.length === 0 ? '*' : list.join(', ')} FROM ${getOnlySource(context).name}${renderOrderBy(parameters, 'orderBy', dialect)}`,
      write: (query) =>
        replace
          ? dialect.replaceRows(table, query, columns)
          : createSingleStatement(dialect.insertRows(table, query, columns)),
    };
  },
};
