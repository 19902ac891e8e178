/**
 * Writes its source to an existing table. The warehouse casts values to the columns' types whatever
 * `fixDataTypeMismatches` is set to. A value that cannot be cast fails the statement.
 */
import type { TransformationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  orderParameter,
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import {
  createSingleStatement,
  getOnlySource,
  readMapping,
  readTableReference,
  renderOrderBy,
} from './definition/plan-parts.ts';

/** Whether existing rows are replaced. */
const outputModes = {
  Append: false,
  'Truncate and insert': true,
  Truncate: true,
  Overwrite: true,
};

export const tableOutput: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about: 'Writes its source to an existing table. Components that have it as a source read the table.',
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
    orderBy: orderParameter,
    fixDataTypeMismatches: yesNoParameter(
      'Values are cast to the types of the table’s columns in both cases. A value that cannot be cast fails the component.',
      'No',
    ),
  },
  noEffect: ['catalog', 'warehouse'],
  example: `type: table-output
sources: [Totals by customer]
parameters:
  targetTable: totals
  outputMode: Append`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const table = dialect.table(readTableReference(parameters, 'targetTable'));
    const mapping = readMapping(parameters, 'columnMapping');
    const list = mapping.map(([from, to]) => `${dialect.name(from)} AS ${dialect.name(to)}`);
    const source = getOnlySource(context);
    const whole = dialect.namesAllColumns ? source.columns : undefined;
    const columns = mapping.length === 0 ? whole : mapping.map(([, to]) => to);
    const replace = parameters.choice('outputMode', outputModes, false);
    return {
      select: `SELECT ${list.length === 0 ? '*' : list.join(', ')} FROM ${source.name}${renderOrderBy(parameters, 'orderBy', dialect)}`,
      write: (query) =>
        replace
          ? dialect.replaceRows(table, query, columns)
          : createSingleStatement(dialect.insertRows(table, query, columns)),
      written: { select: `SELECT * FROM ${table}`, columns: undefined },
    };
  },
};
