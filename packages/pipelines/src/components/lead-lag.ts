/** Takes values from rows before or after the current one. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import { findFunction, nameFunctionColumn } from './aggregate-functions.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';
import { addColumns } from './projection.ts';
import { readCellInteger, readFunctions, renderWindow, windowParameters } from './window.ts';

const functions: Readonly<Record<string, string>> = { lead: 'lead', lag: 'lag' };

export const leadLag: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Adds values of rows before (Lag) or after (Lead) the current one.',
  group: 'transform',
  parameters: {
    functions: rowsParameter(
      'The functions. The offset is a number of rows; empty: 1.',
      ['Lead or Lag', 'column', 'offset', 'new column'],
      { required: true },
    ),
    ...windowParameters(true),
    ignoreNulls: yesNoParameter('Whether rows whose value is NULL are skipped.', 'No'),
  },
  example: `type: lead-lag
sources: [Orders]
parameters:
  partitionData: [customer]
  orderingWithinPartitions:
    - [ordered, Ascending]
  functions:
    - [Lag, amount, "1", previous amount]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const { text } = renderWindow(parameters, dialect);
    const isSkipping = parameters.yes('ignoreNulls', false);
    const computed = readFunctions(parameters, 3).map((row) => {
      const [word, column, offset, name] = readFunction(row);
      const plain = `${findFunction(word, functions, 'a function of lead-lag')}(${dialect.name(column)}, ${offset})`;
      const call = isSkipping ? dialect.ignoreNulls(plain) : plain;
      return { name: name || nameFunctionColumn(word, column), sql: `${call} OVER (${text})` };
    });
    const include = parameters.yes('includeInputColumns', true);
    return addColumns(getOnlySource(context), computed, include, dialect);
  },
};

/** Files write the offset before the new column or after it. */
function readFunction(row: readonly Resolved[]): [string, string, number, string] {
  const [word, column] = [readCellText(row, 0), readCellText(row, 1)];
  if (column === '') throw new ParameterError(`"functions" has a ${word} without a column: name one`);
  const isLast = /^\d+$/.test(readCellText(row, 3).trim()) && !/^\d*$/.test(readCellText(row, 2).trim());
  const [offsetAt, nameAt] = isLast ? [3, 2] : [2, 3];
  return [
    word,
    column,
    readCellInteger(row, offsetAt, 'the offset of a function', 1),
    readCellText(row, nameAt),
  ];
}
