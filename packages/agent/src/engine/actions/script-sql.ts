/** The SQL of scripts: a query gives its rows, another statement the number of rows that it changed. */

import type { RunContext } from '../context/run-context.ts';
import { isQuery } from '../session/reading-sql.ts';

/** Rows that a script gets at once. */
const rowLimit = 100_000;

/** @throws SqlError, or Error of the warehouse */
export async function runScriptSql(
  { warehouse, dialect }: Pick<RunContext, 'warehouse' | 'dialect'>,
  written: string,
): Promise<{ columns: string[]; rows: unknown[][] }> {
  const statements = dialect.user.script(written);
  const [only] = statements;
  if (only === undefined) throw new Error('the SQL contains no statement: write one');
  const isPlain =
    only.before.length + only.after.length === 0 && only.onlyIf === undefined && only.listed === undefined;
  if (statements.length === 1 && isPlain && isQuery(only.sql)) return warehouse.query(only.sql, rowLimit);
  const effective = statements.filter(({ sql }) => sql !== '');
  if (effective.length === 0)
    return { columns: ['status'], rows: [[statements.flatMap(({ notes }) => notes).join('\n')]] };
  const { rowCount } = await warehouse.executeScript(effective);
  return { columns: ['number of rows'], rows: [[rowCount]] };
}
