/** One row of each group, with its first or last values. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Dialect, GroupEnds } from '../sql/dialect/dialect.ts';
import { nameFunctionColumn } from './aggregate-functions.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { namesParameter, rowsParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { getOnlySource, isSameName, renderOrderTerm } from './definition/plan-parts.ts';

export const firstLast: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'One row of each group, with the first or last values of some columns. A column keeps its name; if it is taken twice, First of `name` becomes the column `first_name`.',
  group: 'transform',
  parameters: {
    groupingColumns: namesParameter('The columns of the groups. None: one group.'),
    orderingInPartitions: rowsParameter(
      'The order in a group.',
      ['column', 'Ascending or Descending?', 'Nulls First or Nulls Last?'],
      { required: true },
    ),
    firstLastColumns: rowsParameter('The columns.', ['column', 'First or Last', 'new column?'], {
      required: true,
    }),
    ignoreNulls: yesNoParameter('Whether NULLs are skipped.', 'No'),
  },
  example: `type: first-last
sources: [Orders]
parameters:
  groupingColumns: [customer]
  orderingInPartitions:
    - [ordered, Ascending]
  firstLastColumns:
    - [amount, First]
    - [amount, Last]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const groups = parameters.names('groupingColumns');
    const order = parameters.rows('orderingInPartitions', 1).map((row) => renderOrderTerm(row, dialect));
    const rows = parameters.rows('firstLastColumns', 2);
    const taken = [...groups, ...rows.map((row) => readCellText(row, 0))];
    const isTakenTwice = (column: string) => taken.filter((each) => isSameName(each, column)).length > 1;
    const columns = rows.map((row) => {
      const [column, word] = [readCellText(row, 0), readCellText(row, 1)];
      const side = word.trim().toLowerCase();
      if (side !== 'first' && side !== 'last')
        throw new ParameterError(`"firstLastColumns" has "${word}" for "${column}": use First or Last`);
      const name = readCellText(row, 2) || (isTakenTwice(column) ? nameFunctionColumn(word, column) : column);
      return { name, end: { side, column: dialect.name(column), name: dialect.name(name) } as const };
    });
    if (columns.length === 0) throw new ParameterError('"firstLastColumns" is empty: add a column');
    const ends = {
      from: getOnlySource(context).name,
      keys: groups.map(dialect.name),
      order,
      columns: columns.map(({ end }) => end),
      ignoresNulls: parameters.yes('ignoreNulls', false),
    };
    return {
      select: dialect.groupEnds?.(ends) ?? groupByKeys(ends, dialect),
      columns: [...groups, ...columns.map(({ name }) => name)],
    };
  },
};

function groupByKeys({ from, keys, order, columns, ignoresNulls }: GroupEnds, dialect: Dialect): string {
  const clause = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`;
  const values = columns.map(({ side, column, name }) => {
    const filter = ignoresNulls ? ` FILTER (WHERE ${column} IS NOT NULL)` : '';
    return `${dialect.firstOrLast(side, column, clause, filter)} AS ${name}`;
  });
  const groups = keys.length === 0 ? '' : `\nGROUP BY ${keys.join(', ')}`;
  return `SELECT ${[...keys, ...values].join(', ')}\nFROM ${from}${groups}`;
}
