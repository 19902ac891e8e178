/** The SQL of scripts: a query gives its rows, another statement the number of rows that it changed. */
import { splitStatements } from '@headgate/pipelines';
import type { RunContext } from './run-context.ts';

/** Rows that a script gets at once. */
const rowLimit = 100_000;

const query =
  /^(?:\s|\(|--[^\n]*\n|\/\*.*?\*\/)*(?:select|with|values|table|from|show|describe|desc|explain|pivot|unpivot)\b/is;

/** @throws Error of the warehouse */
export async function runScriptSql(
  { warehouse }: RunContext,
  sql: string,
): Promise<{ columns: string[]; rows: unknown[][] }> {
  const statements = splitStatements(sql);
  if (statements.length === 0) throw new Error('the SQL contains no statement: write one');
  const [only] = statements;
  if (only !== undefined && statements.length === 1 && query.test(only))
    return warehouse.query(only, rowLimit);
  const { rowCount } = await warehouse.executeScript(statements);
  return { columns: ['number of rows'], rows: [[rowCount]] };
}
