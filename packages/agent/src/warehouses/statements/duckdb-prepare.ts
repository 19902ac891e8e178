/** Prepares a statement; operands of types that DuckDB refuses are converted as the vendors convert them. */
import type { DuckDBConnection, DuckDBExtractedStatements, DuckDBPreparedStatement } from '@duckdb/node-api';
import { convertOperands } from '@headgate/pipelines/user-sql';
import { getReason } from '../../log.ts';

/** Conversions in one statement. Each costs another attempt to prepare it. */
const mostAttempts = 200;
/** Characters that all conversions of a statement read again: nothing else of the process goes on meanwhile. */
const mostRead = 10_000_000;

/**
 * @param statements of `sql`, of which there is one
 * @returns the statement, and the SQL that it was made of
 */
export async function prepareConverted(
  connection: DuckDBConnection,
  sql: string,
  statements: DuckDBExtractedStatements,
): Promise<{ statement: DuckDBPreparedStatement; sql: string }> {
  const attempts = Math.min(mostAttempts, mostRead / sql.length);
  let attempt = { sql, statements };
  for (let count = 0; ; count += 1) {
    try {
      return { statement: await attempt.statements.prepare(0), sql: attempt.sql };
    } catch (error) {
      const converted = count < attempts ? convertOperands(attempt.sql, getReason(error)) : undefined;
      if (converted === undefined) throw error;
      attempt = { sql: converted, statements: await connection.extractStatements(converted) };
    }
  }
}
