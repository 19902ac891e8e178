/** Ranks rows within partitions. */
import { readCellText } from '../expressions/parameters.ts';
import { findFunction, nameFunctionColumn } from './aggregate-functions.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';
import { addColumns } from './projection.ts';
import { readFunctions, renderWindow, windowParameters } from './window.ts';

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
    functions: rowsParameter(
      'The functions and their columns. Functions: Rank, Dense Rank, Row Number, Percent Rank, Cumulative Distribution.',
      ['function', 'column'],
      { required: true },
    ),
    ...windowParameters(true),
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
    const { text } = renderWindow(parameters, dialect);
    const computed = readFunctions(parameters, 1).map((row) => {
      const word = readCellText(row, 0);
      return {
        name: readCellText(row, 1) || nameFunctionColumn(word, ''),
        sql: `${findFunction(word, functions, 'a rank function')} OVER (${text})`,
      };
    });
    const include = parameters.yes('includeInputColumns', true);
    return addColumns(getOnlySource(context), computed, include, dialect);
  },
};
