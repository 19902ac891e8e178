/**
 * Groups and aggregates rows. The aggregation `[Title, Count]` becomes the column `count_Title`, `[x, Average]`
 * becomes `avg_x`.
 */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import { aggregateWords, nameFunctionColumn, renderAggregate } from './aggregate-functions.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { choiceParameter, namesParameter, rowsParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';

/** `Group By Rollup` and `Rollup` are the same. */
const groupingTypes = {
  'Group By': 'plain',
  'Group By Rollup': 'ROLLUP',
  'Group By Cube': 'CUBE',
  'Group By Sets': 'GROUPING SETS',
  Rollup: 'ROLLUP',
  Cube: 'CUBE',
  Sets: 'GROUPING SETS',
  'Group By Grouping Sets': 'GROUPING SETS',
} as const;

export const aggregate: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Groups rows and computes aggregates. The aggregation `[Title, Count]` becomes the column `count_Title`, `[x, Average]` becomes `avg_x`.',
  group: 'transform',
  parameters: {
    groupings: namesParameter('The columns to group by. None: one row for all.'),
    aggregations: rowsParameter(
      `What to compute. Functions: ${aggregateWords}.`,
      ['column', 'function', 'name?'],
      { required: true },
    ),
    groupingType: choiceParameter(
      'Whether subtotals are added. Sets: each column is a group of its own.',
      Object.keys(groupingTypes),
      { standard: 'Group By' },
    ),
  },
  example: `type: aggregate
sources: [Orders]
parameters:
  groupings: [customer]
  aggregations:
    - [amount, Sum]
    - [amount, Count]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const groupings = parameters.names('groupings');
    const aggregations = parameters.rows('aggregations', 2).map((row) => {
      const [column, word] = [readCellText(row, 0), readCellText(row, 1)];
      const name = readCellText(row, 2) || nameFunctionColumn(word, column);
      const sql = renderAggregate(word, column === '*' ? '*' : dialect.name(column), dialect);
      return { name, sql: `${sql} AS ${dialect.name(name)}` };
    });
    const keys = groupings.map(dialect.name);
    const list = [...keys, ...aggregations.map(({ sql }) => sql)];
    if (list.length === 0)
      throw new ParameterError('"groupings" and "aggregations" are both empty: fill in one of them');
    const type = parameters.choice<string>('groupingType', groupingTypes, 'plain');
    const by =
      type === 'plain'
        ? keys.join(', ')
        : `${type} (${keys.map((key) => (type === 'GROUPING SETS' ? `(${key})` : key)).join(', ')})`;
    return {
      select: `SELECT ${list.join(', ')}\nFROM ${getOnlySource(context).name}${keys.length === 0 ? '' : `\nGROUP BY ${by}`}`,
      columns: [...groupings, ...aggregations.map(({ name }) => name)],
    };
  },
};
