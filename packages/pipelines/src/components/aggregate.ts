/** Groups and aggregates rows. The aggregation `[Title, Count]` becomes the column `count_Title`. */
import { ParameterError, readCellText } from '../parameters.ts';
import { getOnlySource, type TransformationDefinition } from './component.ts';
import { choiceParameter, namesParameter, rowsParameter } from './declared-parameters.ts';

const functions: Readonly<Record<string, (column: string) => string>> = {
  count: (column) => `count(${column})`,
  'count distinct': (column) => `count(DISTINCT ${column})`,
  sum: (column) => `sum(${column})`,
  average: (column) => `avg(${column})`,
  min: (column) => `min(${column})`,
  minimum: (column) => `min(${column})`,
  max: (column) => `max(${column})`,
  maximum: (column) => `max(${column})`,
  median: (column) => `median(${column})`,
  'standard deviation': (column) => `stddev_samp(${column})`,
  variance: (column) => `var_samp(${column})`,
};

export const aggregate: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Groups rows and computes aggregates. The aggregation `[Title, Count]` becomes the column `count_Title`.',
  group: 'transform',
  parameters: {
    groupings: namesParameter('The columns to group by. None: one row for all.'),
    aggregations: rowsParameter('What to compute.', ['column', 'function'], { required: true }),
    groupingType: choiceParameter('Whether subtotals are added.', ['Group By', 'Rollup', 'Cube'], {
      standard: 'Group By',
    }),
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
      const [column, word] = [readCellText(row, 0), readCellText(row, 1).trim().toLowerCase()];
      const toSql = Object.hasOwn(functions, word) ? functions[word] : undefined;
      if (toSql === undefined) {
        throw new ParameterError(
          `"${readCellText(row, 1)}" is not an aggregation: use one of ${Object.keys(functions).join(', ')}`,
        );
      }
      const name = `${word.replaceAll(' ', '_')}_${column}`;
      return { name, sql: `${toSql(column === '*' ? '*' : dialect.name(column))} AS ${dialect.name(name)}` };
    });
    const keys = groupings.map(dialect.name);
    const list = [...keys, ...aggregations.map(({ sql }) => sql)];
    if (list.length === 0)
      throw new ParameterError('"groupings" and "aggregations" are both empty: fill in one of them');
    const types = { 'Group By': '', Rollup: 'ROLLUP ', Cube: 'CUBE ' } as const;
    const type = parameters.choice<string>('groupingType', types, '');
    const by = type === '' ? keys.join(', ') : `${type}(${keys.join(', ')})`;
    return {
      select: `SELECT ${list.join(', ')}\nFROM ${getOnlySource(context).name}${keys.length === 0 ? '' : `\nGROUP BY ${by}`}`,
      columns: [...groupings, ...aggregations.map(({ name }) => name)],
    };
  },
};
