/** Fails unless the rows of its source are as expected. */

import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import { isOperator, readComparator } from './definition/comparator.ts';
import type { Source, TransformationDefinition } from './definition/component.ts';
import {
  numberParameter,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { getOnlySource, isSameName } from './definition/plan-parts.ts';

export const assertView: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about:
    'Fails unless its source has the expected columns and number of rows. Components that have it as a source read the same rows.',
  group: 'tests',
  parameters: {
    metadata: rowsParameter(
      'The columns that the source must have, and no others.',
      ['name', 'type?', 'size?', 'precision?'],
      { otherNames: ['tableMetadata', 'viewMetadata'] },
    ),
    ignoreMetadataOrder: yesNoParameter('Whether the order of the columns does not matter.', 'No'),
    rowCountComparisonType: textParameter(
      'A comparator for the number of rows, such as `Equal To`, or `Range`.',
    ),
    lowerValue: numberParameter('The number of rows to compare with, or the least of a range.', {
      otherNames: ['rowCountValue'],
    }),
    upperValue: numberParameter('The largest number of rows of a range.'),
    values: rowsParameter('Must be empty: values cannot be checked here.', ['value', '…']),
  },
  example: `type: assert-view
sources: [Orders]
parameters:
  rowCountComparisonType: Greater than or equal to
  lowerValue: "1"`,
  sources: [1, 1],
  needsColumns: (parameters) => parameters.rows('metadata', 1).length > 0,
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    if (parameters.rows('values', 1).length > 0)
      throw new ParameterError('"values" cannot be checked here: use a filter and a number of rows');
    const checks = [...checkColumns(parameters, source, dialect), ...checkRowCount(parameters, dialect)];
    const aside = dialect.temporaryTable('headgate_asserted_rows');
    return {
      select: `SELECT * FROM ${source.name}`,
      write: (query) => ({
        statements: [
          dialect.createTemporaryTable(aside, query),
          ...checks.map((check) => `SELECT ${check} FROM ${aside}`),
          `DROP TABLE ${aside}`,
        ],
        counted: 0,
      }),
      written: { select: `SELECT * FROM ${source.name}`, columns: source.columns },
      passesOn: true,
    };
  },
};

/** Fails by the warehouse, so that the failure is that of the step. */
function checkColumns(parameters: Parameters, source: Source, dialect: Dialect): string[] {
  const expected = parameters.rows('metadata', 1).map((row) => readCellText(row, 0));
  const isAnyOrder = parameters.yes('ignoreMetadataOrder', false);
  if (expected.length === 0 || source.columns === undefined) return [];
  const { columns } = source;
  const isExpected =
    columns.length === expected.length &&
    (isAnyOrder
      ? expected.every((name) => columns.some((each) => isSameName(each, name)))
      : expected.every((name, index) => isSameName(columns[index] ?? '', name)));
  if (isExpected) return [];
  const message = `the source has the columns ${columns.join(', ')}, but should have ${expected.join(', ')}`;
  return [`${dialect.raise(dialect.literal(message))}, count(*)`];
}

function checkRowCount(parameters: Parameters, dialect: Dialect): string[] {
  const word = parameters.optionalText('rowCountComparisonType')?.trim();
  const [lower, upper] = [parameters.optionalInteger('lowerValue'), parameters.optionalInteger('upperValue')];
  if (word === undefined) {
    if (lower === undefined && upper === undefined) return [];
    throw new ParameterError('"rowCountComparisonType" is missing: use a comparator such as Equal To');
  }
  if (lower === undefined) throw new ParameterError('"lowerValue" is missing: give a number of rows');
  if (word.toLowerCase() === 'range') {
    if (upper === undefined) throw new ParameterError('"upperValue" is missing: a range needs two numbers');
    return [renderCheck(`BETWEEN ${lower} AND ${upper}`, `from ${lower} to ${upper}`, dialect)];
  }
  const comparator = readComparator(word);
  if (!isOperator(comparator))
    throw new ParameterError(
      `"${word}" does not compare numbers: use a comparator such as Equal To, or Range`,
    );
  return [renderCheck(`${comparator} ${lower}`, `${comparator} ${lower}`, dialect)];
}

function renderCheck(condition: string, expected: string, dialect: Dialect): string {
  const [before, after] = ['the source has ', ` rows, but should have ${expected}`].map(dialect.literal);
  return `CASE WHEN NOT (count(*) ${condition}) THEN ${dialect.raise(`${before} || count(*) || ${after}`)} END`;
}
