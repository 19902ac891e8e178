/** Numbers rows inside partitions. */
import { cellText, ParameterError } from '../parameters.ts';
import {
  columnNamesBut,
  columnsBut,
  onlySource,
  orderTerm,
  type TransformationDefinition,
} from './component.ts';

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
  required: ['functions', 'orderingWithinPartitions'],
  optional: ['partitionData', 'includeInputColumns'],
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = onlySource(context);
    const partitions = parameters.names('partitionData').map(dialect.name);
    const order = parameters.rows('orderingWithinPartitions', 1).map((row) => orderTerm(row, dialect));
    const window = [
      ...(partitions.length === 0 ? [] : [`PARTITION BY ${partitions.join(', ')}`]),
      ...(order.length === 0 ? [] : [`ORDER BY ${order.join(', ')}`]),
    ].join(' ');
    const rows = parameters.rows('functions', 2);
    const names = rows.map((row) => cellText(row, 1));
    const list = rows.map(
      (row) => `${rankFunction(cellText(row, 0))} OVER (${window}) AS ${dialect.name(cellText(row, 1))}`,
    );
    if (list.length === 0) throw new ParameterError('"functions" is empty: add a function');
    const include = parameters.yes('includeInputColumns', true);
    const kept = include ? columnsBut(source, names, dialect) : '';
    const keptNames = include ? columnNamesBut(source.columns, names) : [];
    return {
      select: `SELECT ${[kept, ...list].filter((part) => part !== '').join(', ')}\nFROM ${source.name}`,
      columns: keptNames === undefined ? undefined : [...keptNames, ...names],
    };
  },
};

function rankFunction(word: string): string {
  const wanted = word.trim().toLowerCase();
  const found = Object.hasOwn(functions, wanted) ? functions[wanted] : undefined;
  if (found === undefined) {
    throw new ParameterError(`"${word}" is no rank function; there are ${Object.keys(functions).join(', ')}`);
  }
  return found;
}
