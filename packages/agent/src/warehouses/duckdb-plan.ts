/**
 * Checks the table functions of a statement by DuckDB's own plan. A plan has every table function that the
 * statement would execute, also those in views and macros, however the SQL is written. EXPLAIN executes
 * nothing.
 */
import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import { type BuiltInFunctions, refuseFunction } from './duckdb-functions.ts';
import { readStatements } from './sql-words.ts';

interface PlanNode {
  name: string;
  children?: readonly PlanNode[];
  extra_info?: { Function?: unknown };
}

/** These execute no expression, and DuckDB cannot explain some of them. */
const withoutPlan: ReadonlySet<StatementType> = new Set([
  StatementType.ALTER,
  StatementType.ANALYZE,
  StatementType.DROP,
  StatementType.EXPORT,
  StatementType.TRANSACTION,
  StatementType.VACUUM,
]);

/**
 * @param sql a single statement of the kind `type`
 * @throws Error with the function and the remedy
 */
export async function checkPlan(
  connection: DuckDBConnection,
  sql: string,
  type: StatementType,
  functions: BuiltInFunctions,
): Promise<void> {
  if (withoutPlan.has(type)) return;
  const first = readStatements(sql)[0]?.[0]?.value;
  // USE is of the same kind as SET VARIABLE; PRAGMA of the kinds that are allowed is a query of the catalog.
  if (first === 'use' || first === 'pragma') return;
  const reader = await connection.runAndReadAll(`EXPLAIN (FORMAT json) ${sql}`);
  const plans = reader.getRows().flatMap((row) => JSON.parse(String(row[1])) as PlanNode[]);
  for (const name of tableFunctionsIn(plans)) if (functions.refused.has(name)) refuseFunction(name);
}

function* tableFunctionsIn(nodes: readonly PlanNode[]): Generator<string> {
  for (const { name, extra_info: info, children = [] } of nodes) {
    yield String(info?.Function ?? name).toLowerCase();
    yield* tableFunctionsIn(children);
  }
}
