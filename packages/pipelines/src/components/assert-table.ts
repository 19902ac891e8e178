/** Fails unless a table's existence, columns and number of rows are as expected. */
import { compareNumbers, readComparator } from '../comparator.ts';
import { ParameterError, type Parameters, readCellText } from '../parameters.ts';
import type { Plain, PlainMap } from '../pipeline.ts';
import type { Resolved } from '../resolve.ts';
import type { Dialect, TableReference } from '../sql/dialect.ts';
import {
  type AssertionCheck,
  isSameName,
  type OrchestrationDefinition,
  readTableReference,
} from './component.ts';
import {
  numberParameter,
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './declared-parameters.ts';

export const assertTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Fails unless a table’s existence, columns and number of rows are as expected.',
  group: 'tests',
  parameters: {
    tableName: textParameter('The table.', { required: true }),
    ...placeParameters,
    exists: yesNoParameter('Whether the table must exist.', 'Yes'),
    tableMetadata: rowsParameter('The columns that it must have, and no others.', [
      'name',
      'type?',
      'size?',
      'precision?',
    ]),
    rowCountComparisonType: textParameter('A comparator for the number of rows, such as `Equal To`.'),
    rowCountValue: numberParameter('The number of rows to compare with.'),
  },
  example: `type: assert-table
parameters:
  tableName: totals
  rowCountComparisonType: Greater than
  rowCountValue: "0"`,
  plan({ parameters, component, dialect }) {
    requireFilled(parameters, component.parameters);
    const reference = readTableReference(parameters, 'tableName');
    const exists = parameters.yes('exists', true);
    if (!exists) requireNoOtherCheck(parameters);
    const checks = [checkExistence(reference, exists, dialect)];
    if (exists)
      checks.push(
        ...checkColumns(reference, parameters, dialect),
        ...checkRowCount(reference, parameters, dialect),
      );
    return { action: 'assert', checks };
  },
};

/** If a parameter of a check became empty, the check would pass without checking anything. */
function requireFilled(parameters: Parameters, written: PlainMap): void {
  for (const name of ['exists', 'tableMetadata', 'rowCountComparisonType', 'rowCountValue']) {
    if (!isGiven(written[name]) || isGiven(parameters.value(name))) continue;
    throw new ParameterError(
      `"${name}" is empty after its expression, so nothing would be checked: give its variable a value`,
    );
  }
}

/** A table that must not exist has no columns or rows to check. */
function requireNoOtherCheck(parameters: Parameters): void {
  const others = ['tableMetadata', 'rowCountValue'].filter((name) => isGiven(parameters.value(name)));
  if (others.length === 0) return;
  throw new ParameterError(
    `"exists" is No, but "${others.join('" and "')}" check${others.length === 1 ? 's' : ''} a table that exists: set "exists" to Yes, or clear ${others.length === 1 ? 'it' : 'them'}`,
  );
}

function isGiven(value: Resolved | Plain | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== '';
}

function checkExistence(reference: TableReference, exists: boolean, dialect: Dialect): AssertionCheck {
  return {
    query: dialect.tableExists(reference),
    counts: false,
    verify(rows) {
      if (rows.length > 0 === exists) return undefined;
      return `the table "${reference.table}" ${exists ? 'does not exist' : 'exists'}, but it should${exists ? '' : ' not'}`;
    },
  };
}

function checkColumns(reference: TableReference, parameters: Parameters, dialect: Dialect): AssertionCheck[] {
  const expected = parameters.rows('tableMetadata', 1);
  if (expected.length === 0) return [];
  return [
    {
      query: dialect.tableColumns(reference),
      counts: false,
      verify(rows) {
        const actual = rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
        const problems = expected.flatMap((column) => describeColumnProblem(column, actual, dialect));
        const unexpected = actual.filter(
          ({ name }) => !expected.some((column) => isSameName(readCellText(column, 0), name)),
        );
        problems.push(...unexpected.map(({ name }) => `the column "${name}" is not expected`));
        return problems.length === 0 ? undefined : `the table "${reference.table}": ${problems.join('; ')}`;
      },
    },
  ];
}

function describeColumnProblem(
  column: readonly Resolved[],
  actual: readonly { name: string; type: string }[],
  dialect: Dialect,
): string[] {
  const name = readCellText(column, 0);
  const found = actual.find((each) => isSameName(each.name, name));
  if (found === undefined) return [`there is no column "${name}"`];
  if (readCellText(column, 1) === '') return [];
  const wanted = dialect.type({
    type: readCellText(column, 1),
    size: readCellText(column, 2),
    precision: readCellText(column, 3),
  });
  const same = wanted.replaceAll(' ', '') === found.type.replaceAll(' ', '');
  return same ? [] : [`the column "${name}" is ${found.type}, not ${wanted} as expected`];
}

function checkRowCount(
  reference: TableReference,
  parameters: Parameters,
  dialect: Dialect,
): AssertionCheck[] {
  const comparison = parameters.optionalText('rowCountComparisonType');
  if (comparison === undefined) {
    const value = parameters.optionalText('rowCountValue');
    if (value === undefined) return [];
    throw new ParameterError(
      `"rowCountValue" is ${value}, but "rowCountComparisonType" is missing: give a comparator, such as Equal To`,
    );
  }
  readComparator(comparison);
  const expected = parameters.integer('rowCountValue');
  if (expected < 0) throw new ParameterError(`"rowCountValue" is ${expected}: it must be 0 or more`);
  return [
    {
      query: `SELECT count(*) FROM ${dialect.table(reference)}`,
      counts: true,
      verify(rows) {
        const actual = Number(rows[0]?.[0]);
        if (compareNumbers(comparison, actual, expected)) return undefined;
        return `the table "${reference.table}" has ${actual} rows, expected: ${comparison} ${expected}`;
      },
    },
  ];
}
