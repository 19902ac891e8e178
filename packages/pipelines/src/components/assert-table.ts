/** Fails unless a table's existence, columns, number of rows and rows are as expected. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Plain, PlainMap } from '../format/pipeline.ts';
import type { Dialect, TableReference } from '../sql/dialect/dialect.ts';
import { checkRowCount } from './assert-row-count.ts';
import { checkRows } from './assert-rows.ts';
import type { AssertionCheck, OrchestrationDefinition } from './definition/component.ts';
import {
  namesParameter,
  numberParameter,
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { isSameName, readTableReference } from './definition/plan-parts.ts';

export const assertTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Fails unless a table’s existence, columns, number of rows and rows are as expected.',
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
    rowCountComparisonType: textParameter(
      'A comparator for the number of rows, such as `Equal To`, or `Range`.',
    ),
    rowCountValue: numberParameter('The number of rows to compare with. None: the rows are not counted.'),
    rowCountLowerValue: numberParameter('The least number of rows of a `Range`.', {
      otherNames: ['lowerValue'],
    }),
    rowCountUpperValue: numberParameter('The greatest number of rows of a `Range`.', {
      otherNames: ['upperValue'],
    }),
    expectedColumns: namesParameter('The columns of `expectedRows`.'),
    expectedRows: rowsParameter(
      'The rows that the table must have, in any order, and no others. Cells are compared as texts: a NUMBER(10, 2) is 5.00, not 5. An empty cell stands for NULL and for an empty text.',
      ['value'],
      { otherNames: ['expectedValues'] },
    ),
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
        ...checkRows(reference, parameters, dialect),
      );
    return { action: 'assert', checks };
  },
};

const checkingParameters = ['tableMetadata', 'rowCountValue', 'expectedColumns', 'expectedRows'];

/** If a parameter of a check became empty, the check would pass without checking anything. */
function requireFilled(parameters: Parameters, written: PlainMap): void {
  for (const name of ['exists', 'rowCountComparisonType', ...checkingParameters]) {
    if (!isGiven(written[name]) || isGiven(parameters.value(name))) continue;
    throw new ParameterError(
      `"${name}" is empty after its expression, so nothing would be checked: give its variable a value`,
    );
  }
}

/** A table that must not exist has no columns or rows to check. */
function requireNoOtherCheck(parameters: Parameters): void {
  const others = checkingParameters.filter((name) => isGiven(parameters.value(name)));
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
      const [expected, actual] = exists ? ['exists', 'does not exist'] : ['does not exist', 'exists'];
      const message = `the table "${reference.table}" ${actual}, but it should${exists ? '' : ' not'}`;
      return { message, expected: `the table ${expected}`, actual: `the table ${actual}` };
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
        if (problems.length === 0) return undefined;
        return {
          message: `the table "${reference.table}": ${problems.join('; ')}`,
          expected: expected.map((column) => renderExpectedColumn(column, dialect)).join('\n'),
          actual: actual.map(({ name, type }) => `${name} ${type}`).join('\n'),
        };
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
  const target = readExpectedType(column, dialect);
  if (target === undefined) return [];
  const same = target.replaceAll(' ', '') === found.type.replaceAll(' ', '');
  return same ? [] : [`the column "${name}" is ${found.type}, not ${target} as expected`];
}

function readExpectedType(column: readonly Resolved[], dialect: Dialect): string | undefined {
  const type = readCellText(column, 1);
  if (type === '') return undefined;
  return dialect.type({ type, size: readCellText(column, 2), precision: readCellText(column, 3) });
}

function renderExpectedColumn(column: readonly Resolved[], dialect: Dialect): string {
  return `${readCellText(column, 0)} ${readExpectedType(column, dialect) ?? ''}`.trim();
}
