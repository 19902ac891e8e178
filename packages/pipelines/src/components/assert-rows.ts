/** The check of assert-table on the rows themselves, without regard to their order. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Dialect, TableReference } from '../sql/dialect/dialect.ts';
import type { AssertionCheck } from './definition/component.ts';

/** Rows that the result of a test shows of each side. */
const shownRows = 20;

export function checkRows(
  reference: TableReference,
  parameters: Parameters,
  dialect: Dialect,
): AssertionCheck[] {
  const rows = parameters.rows('expectedRows', 1);
  const columns = parameters.names('expectedColumns');
  if (columns.length === 0 && rows.length === 0) return [];
  if (columns.length === 0)
    throw new ParameterError('"expectedRows" needs "expectedColumns": name the columns of its cells');
  const wrong = rows.findIndex((row) => row.length !== columns.length);
  if (wrong >= 0)
    throw new ParameterError(
      `row ${wrong + 1} of "expectedRows" has ${rows[wrong]?.length} cells, but "expectedColumns" names ${columns.length} columns: give one cell for each`,
    );
  const expected = rows.map((row) => renderRow(row));
  const list = columns.map((column) => `CAST(${dialect.name(column)} AS ${dialect.text})`).join(', ');
  return [
    {
      query: `SELECT ${list} FROM ${dialect.table(reference)}`,
      counts: false,
      verify(found) {
        const actual = found.map((row) => renderRow(row));
        const missing = subtract(expected, actual);
        const surplus = subtract(actual, expected);
        if (missing.length + surplus.length === 0) return undefined;
        return {
          message: `the table "${reference.table}" does not have the expected rows: ${missing.length} missing, ${surplus.length} not expected`,
          expected: describeRows(columns, missing),
          actual: describeRows(columns, surplus),
        };
      },
    },
  ];
}

/** An empty cell and NULL are alike, because files cannot tell them apart. */
function renderRow(row: readonly (Resolved | unknown)[]): string {
  return JSON.stringify(row.map((cell) => (cell === null || cell === undefined ? '' : String(cell))));
}

/** The rows of one side that the other lacks, each as often as it does. */
function subtract(rows: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const row of others) counts.set(row, (counts.get(row) ?? 0) + 1);
  return rows.filter((row) => {
    const count = counts.get(row) ?? 0;
    counts.set(row, count - 1);
    return count <= 0;
  });
}

function describeRows(columns: readonly string[], rows: readonly string[]): string {
  const more = rows.length > shownRows ? [`and ${rows.length - shownRows} more`] : [];
  if (rows.length === 0) return 'no other rows';
  return [JSON.stringify(columns), ...rows.slice(0, shownRows), ...more].join('\n');
}
