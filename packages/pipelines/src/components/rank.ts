/** Ranks rows within partitions. */
import { ParameterError, readCellText } from '../parameters.ts';
import {
  getOnlySource,
  listColumnsExcept,
  renderColumnsExcept,
  renderOrderTerm,
  type TransformationDefinition,
} from './component.ts';
import { namesParameter, rowsParameter, yesNoParameter } from './declared-parameters.ts';

const functions: Readonly<Record<string, string>> = {
  rank: 'rank()',
  'dense rank': 'dense_rank()',
  'row number': 'row_number()',
  'percent rank': 'percent_rank()',
  'cumulative distribution': 'cume_dist()',
};

export const rank: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Ranks rows within partitions.',
  group: 'transform',
  parameters: {
    partitionData: namesParameter('The columns of the partitions. None: one partition.'),
    orderingWithinPartitions: rowsParameter(
      'The order in a partition.',
      ['column', 'Ascending or Descending?'],
      { required: true },
    ),
    functions: rowsParameter('The functions and their columns.', ['function', 'column'], { required: true }),
    includeInputColumns: yesNoParameter('Whether the columns of the source are kept.', 'Yes'),
  },
  example: `type: rank
sources: [Orders]
parameters:
  partitionData: [customer]
  orderingWithinPartitions:
    - [amount, Descending]
  functions:
    - [Row Number, place]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const partitions = parameters.names('partitionData').map(dialect.name);
    const order = parameters.rows('orderingWithinPartitions', 1).map((row) => renderOrderTerm(row, dialect));
    const window = [
      ...(partitions.length === 0 ? [] : [`PARTITION BY ${partitions.join(', ')}`]),
      ...(order.length === 0 ? [] : [`ORDER BY ${order.join(', ')}`]),
    ].join(' ');
    const rows = parameters.rows('functions', 2);
    const names = rows.map((row) => readCellText(row, 1));
    const list = rows.map(
      (row) =>
        `${findRankFunction(readCellText(row, 0))} OVER (${window}) AS ${dialect.name(readCellText(row, 1))}`,
    );
    if (list.length === 0) throw new ParameterError('"functions" is empty: add a function');
    const include = parameters.yes('includeInputColumns', true);
    const kept = include ? renderColumnsExcept(source, names, dialect) : '';
    const keptNames = include ? listColumnsExcept(source.columns, names) : [];
    return {
      select: `SELECT ${[kept, ...list].filter((part) => part !== '').join(', ')}\nFROM ${source.name}`,
      columns: keptNames === undefined ? undefined : [...keptNames, ...names],
    };
  },
};

function findRankFunction(word: string): string {
  const wanted = word.trim().toLowerCase();
  const found = Object.hasOwn(functions, wanted) ? functions[wanted] : undefined;
  if (found === undefined) {
    throw new ParameterError(
      `"${word}" is not a rank function: use one of ${Object.keys(functions).join(', ')}`,
    );
  }
  return found;
}
