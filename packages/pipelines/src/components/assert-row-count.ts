/** The check of assert-table on the number of rows. */

import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Dialect, TableReference } from '../sql/dialect/dialect.ts';
import { compareNumbers, readComparator } from './definition/comparator.ts';
import type { AssertionCheck } from './definition/component.ts';

export function checkRowCount(
  reference: TableReference,
  parameters: Parameters,
  dialect: Dialect,
): AssertionCheck[] {
  const target = readWantedCount(parameters);
  if (target === undefined) return [];
  return [
    {
      query: `SELECT count(*) FROM ${dialect.table(reference)}`,
      counts: true,
      verify(rows) {
        const actual = Number(rows[0]?.[0]);
        if (target.holds(actual)) return undefined;
        const message = `the table "${reference.table}" has ${actual} rows, expected: ${target.words}`;
        return { message, expected: `${target.words} rows`, actual: `${actual} rows` };
      },
    },
  ];
}

interface WantedCount {
  words: string;
  holds(count: number): boolean;
}

function readWantedCount(parameters: Parameters): WantedCount | undefined {
  const comparison = parameters.optionalText('rowCountComparisonType');
  const counts = ['rowCountValue', 'rowCountLowerValue', 'rowCountUpperValue'].map(parameters.optionalText);
  if (counts.every((value) => value === undefined)) return undefined;
  if (comparison === undefined) {
    const [value] = counts.filter((each) => each !== undefined);
    throw new ParameterError(
      `"rowCountValue" is ${value}, but "rowCountComparisonType" is missing: give a comparator, such as Equal To`,
    );
  }
  if (comparison.trim().toLowerCase() === 'range') {
    const [from, to] = [
      readCount(parameters, 'rowCountLowerValue'),
      readCount(parameters, 'rowCountUpperValue'),
    ];
    if (from > to)
      throw new ParameterError(
        `"rowCountLowerValue" is ${from}, which is more than "rowCountUpperValue", ${to}: exchange them`,
      );
    return { words: `from ${from} to ${to}`, holds: (count) => count >= from && count <= to };
  }
  readComparator(comparison);
  const value = readCount(parameters, 'rowCountValue');
  return {
    words: `${comparison} ${value}`,
    holds: (count) => compareNumbers(comparison, count, value),
  };
}

function readCount(parameters: Parameters, name: string): number {
  const value = parameters.integer(name);
  if (value < 0) throw new ParameterError(`"${name}" is ${value}: it must be 0 or more`);
  return value;
}
