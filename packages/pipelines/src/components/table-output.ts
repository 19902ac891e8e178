/**
 * Writes its source to a table that exists. Values are cast to the columns' types by the warehouse, whatever
 * `fixDataTypeMismatches` says; one that does not fit fails the statement.
 */
import { cellText } from '../parameters.ts';
import {
  oneStatement,
  onlySource,
  orderBy,
  type TransformationDefinition,
  tableReference,
} from './component.ts';

/** Whether the rows that are there are replaced. */
const outputModes = { Append: false, 'Truncate and insert': true, Truncate: true, Overwrite: true };

export const tableOutput: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  required: ['targetTable'],
  optional: ['columnMapping', 'outputMode', 'orderBy', 'database', 'schema'],
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const table = dialect.table(tableReference(parameters, 'targetTable'));
    const mapping = parameters
      .rows('columnMapping', 2)
      .map((row) => [cellText(row, 0), cellText(row, 1)] as const);
    const list = mapping.map(([from, to]) => `${dialect.name(from)} AS ${dialect.name(to)}`);
    const columns = mapping.length === 0 ? undefined : mapping.map(([, to]) => to);
    const replace = parameters.choice('outputMode', outputModes, false);
    return {
      select: `SELECT ${list.length === 0 ? '*' : list.join(', ')} FROM ${onlySource(context).name}${orderBy(parameters, 'orderBy', dialect)}`,
      write: (query) =>
        replace
          ? dialect.replaceRows(table, query, columns)
          : oneStatement(dialect.insertRows(table, query, columns)),
    };
  },
};
