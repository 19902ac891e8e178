/** Fails unless a table is as expected: that it exists, its columns, its number of rows. */
import { compareNumbers, readComparator } from '../comparator.ts';
import { cellText, ParameterError, type Parameters } from '../parameters.ts';
import type { Plain, PlainMap } from '../pipeline.ts';
import type { Resolved } from '../resolve.ts';
import type { Dialect, TableReference } from '../sql/dialect.ts';
import { type AssertionCheck, type OrchestrationDefinition, sameName, tableReference } from './component.ts';

export const assertTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  required: ['tableName'],
  optional: ['exists', 'tableMetadata', 'rowCountComparisonType', 'rowCountValue', 'database', 'schema'],
  plan({ parameters, component, dialect }) {
    requireFilled(parameters, component.parameters);
    const reference = tableReference(parameters, 'tableName');
    const exists = parameters.yes('exists', true);
    if (!exists) requireNoOtherCheck(parameters);
    const checks = [existence(reference, exists, dialect)];
    if (exists)
      checks.push(...metadata(reference, parameters, dialect), ...rowCount(reference, parameters, dialect));
    return { action: 'assert', checks };
  },
};

/** What decides about a check must not come to nothing, or the check would pass unseen. */
function requireFilled(parameters: Parameters, written: PlainMap): void {
  for (const name of ['exists', 'tableMetadata', 'rowCountComparisonType', 'rowCountValue']) {
    if (!isGiven(written[name]) || isGiven(parameters.value(name))) continue;
    throw new ParameterError(
      `"${name}" is empty after its expression, so nothing would be checked: give its variable a value`,
    );
  }
}

/** A table that must not exist has neither columns nor rows to check. */
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

function existence(reference: TableReference, exists: boolean, dialect: Dialect): AssertionCheck {
  return {
    query: dialect.tableExists(reference),
    counts: false,
    verify(rows) {
      if (rows.length > 0 === exists) return undefined;
      return `the table "${reference.table}" ${exists ? 'does not exist' : 'exists'}, but should${exists ? '' : ' not'}`;
    },
  };
}

function metadata(reference: TableReference, parameters: Parameters, dialect: Dialect): AssertionCheck[] {
  const expected = parameters.rows('tableMetadata', 1);
  if (expected.length === 0) return [];
  return [
    {
      query: dialect.tableColumns(reference),
      counts: false,
      verify(rows) {
        const actual = rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
        const problems = expected.flatMap((column) => columnProblem(column, actual, dialect));
        const unexpected = actual.filter(
          ({ name }) => !expected.some((column) => sameName(cellText(column, 0), name)),
        );
        problems.push(...unexpected.map(({ name }) => `the column "${name}" is not expected`));
        return problems.length === 0 ? undefined : `the table "${reference.table}": ${problems.join('; ')}`;
      },
    },
  ];
}

function columnProblem(
  column: readonly Resolved[],
  actual: readonly { name: string; type: string }[],
  dialect: Dialect,
): string[] {
  const name = cellText(column, 0);
  const found = actual.find((each) => sameName(each.name, name));
  if (found === undefined) return [`there is no column "${name}"`];
  if (cellText(column, 1) === '') return [];
  const wanted = dialect.type({
    type: cellText(column, 1),
    size: cellText(column, 2),
    precision: cellText(column, 3),
  });
  const same = wanted.replaceAll(' ', '') === found.type.replaceAll(' ', '');
  return same ? [] : [`the column "${name}" is ${found.type}, expected ${wanted}`];
}

function rowCount(reference: TableReference, parameters: Parameters, dialect: Dialect): AssertionCheck[] {
  const comparison = parameters.optionalText('rowCountComparisonType');
  if (comparison === undefined) {
    const value = parameters.optionalText('rowCountValue');
    if (value === undefined) return [];
    throw new ParameterError(
      `"rowCountValue" is ${value}, but "rowCountComparisonType" does not say how to compare it: give a comparator, such as Equal To`,
    );
  }
  readComparator(comparison);
  const expected = parameters.integer('rowCountValue');
  if (expected < 0) throw new ParameterError('"rowCountValue" must not be negative');
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
