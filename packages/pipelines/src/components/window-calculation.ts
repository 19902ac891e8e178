/** Computes aggregates over windows of rows. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import { nameFunctionColumn, renderAggregate } from './aggregate-functions.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { numberParameter, rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';
import { addColumns } from './projection.ts';
import { readFunctions, renderWindow, windowParameters } from './window.ts';

export const windowCalculation: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Adds aggregates over the rows of a window, such as a running total.',
  group: 'transform',
  parameters: {
    functions: rowsParameter(
      'The functions: those of aggregate, First Value and Last Value.',
      ['function', 'column', 'new column'],
      { required: true },
    ),
    ...windowParameters(false),
    lowerBound: textParameter(
      'The first row of the window: `unbounded preceding`, `current row` or `offset preceding`.',
    ),
    lowerBoundOffset: numberParameter('How many rows before the current one, for `offset preceding`.'),
    upperBound: textParameter(
      'The last row of the window: `unbounded following`, `current row` or `offset following`.',
    ),
    upperBoundOffset: numberParameter('How many rows after the current one, for `offset following`.'),
  },
  example: `type: window-calculation
sources: [Orders]
parameters:
  partitionData: [customer]
  orderingWithinPartitions:
    - [ordered, Ascending]
  lowerBound: unbounded preceding
  upperBound: current row
  functions:
    - [Sum, amount, running total]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const { text, isOrdered } = renderWindow(parameters, dialect);
    const frame = isOrdered ? renderFrame(parameters) : '';
    const computed = readFunctions(parameters, 2).map((row) => {
      const [word, column] = [readCellText(row, 0), readCellText(row, 1)];
      const name = readCellText(row, 2) || nameFunctionColumn(word, column);
      return { name, sql: renderFunction(word, dialect.name(column), ` OVER (${text}${frame})`, dialect) };
    });
    const include = parameters.yes('includeInputColumns', true);
    return addColumns(getOnlySource(context), computed, include, dialect);
  },
};

function renderFunction(word: string, column: string, over: string, dialect: Dialect): string {
  const [, place] = /^\s*(first|last)[\s_]+value\s*$/i.exec(word) ?? [];
  return place === undefined
    ? renderAggregate(word, column, dialect, { over })
    : `${place.toLowerCase()}_value(${column})${over}`;
}

/** Without bounds the window is the whole partition. */
function renderFrame(parameters: Parameters): string {
  const lower = renderBound(parameters, 'lowerBound', 'preceding');
  const upper = renderBound(parameters, 'upperBound', 'following');
  return ` ROWS BETWEEN ${lower} AND ${upper}`;
}

function renderBound(
  parameters: Parameters,
  name: 'lowerBound' | 'upperBound',
  side: 'preceding' | 'following',
): string {
  const word = (parameters.optionalText(name) ?? `unbounded ${side}`).trim().toLowerCase();
  if (word === `unbounded ${side}` || word === 'current row') return word.toUpperCase();
  const [, direction] = /^offset (preceding|following)$/.exec(word) ?? [];
  if (direction === undefined) {
    throw new ParameterError(`"${name}" is "${word}": use unbounded ${side}, current row or offset ${side}`);
  }
  const offset = parameters.integer(`${name}Offset`);
  if (offset < 0) throw new ParameterError(`"${name}Offset" is ${offset}: use 0 or more`);
  return `${offset} ${direction.toUpperCase()}`;
}
