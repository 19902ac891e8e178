/** Prepares a statement; operands are converted as the vendors convert them. */
import type { DuckDBConnection, DuckDBExtractedStatements, DuckDBPreparedStatement } from '@duckdb/node-api';
import { convertOperands } from '@headgate/pipelines/user-sql';
import { getReason } from '../../log.ts';
import { convertVariants } from './duckdb-variants.ts';
import { measurePlanning, planningLimit } from './planning-cost.ts';

/** Conversions in one statement. Each costs another attempt to prepare it. */
const mostAttempts = 200;
/** Characters that all conversions of a statement read again: nothing else of the process goes on meanwhile. */
const mostRead = 10_000_000;
/** Of the longest expressions, which take 2 s each. */
const mostPlannings = 4;

/**
 * @param statements of `sql`, of which there is one
 * @param mayUseVariants whether the statement can have a VARIANT
 * @returns the statement, and the SQL that it was made of
 */
export async function prepareConverted(
  connection: DuckDBConnection,
  sql: string,
  statements: DuckDBExtractedStatements,
  mayUseVariants: boolean,
): Promise<{ statement: DuckDBPreparedStatement; sql: string }> {
  const planning = measurePlanning(sql);
  const attempts = Math.min(mostAttempts, mostRead / sql.length, (mostPlannings * planningLimit) / planning);
  let attempt = { sql, statements };
  let isConverted = !mayUseVariants;
  for (let count = 0; ; count += 1) {
    try {
      const statement = await attempt.statements.prepare(0);
      const converted = isConverted ? attempt.sql : await convertVariants(connection, attempt.sql);
      if (converted === attempt.sql) return { statement, sql: attempt.sql };
      isConverted = true;
      statement.destroySync();
      attempt = { sql: converted, statements: await connection.extractStatements(converted) };
    } catch (error) {
      const converted = count < attempts ? convertOperands(attempt.sql, getReason(error)) : undefined;
      if (converted === undefined) throw error;
      attempt = { sql: converted, statements: await connection.extractStatements(converted) };
    }
  }
}
