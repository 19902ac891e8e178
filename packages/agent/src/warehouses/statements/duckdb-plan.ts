/**
 * Checks the table functions of a statement by DuckDB's own plan. A plan has every table function that the
 * statement would execute, also those in views and macros, however the SQL is written. EXPLAIN executes
 * nothing.
 */
import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import { type BuiltInFunctions, refuseFunction } from './duckdb-functions.ts';
import { readStatements, type Word } from './sql-words.ts';

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
  const words = readStatements(sql)[0] ?? [];
  const first = words[0]?.value;
  // USE is of the same kind as SET VARIABLE; PRAGMA of the kinds that are allowed is a query of the catalog.
  if (first === 'use' || first === 'pragma') return;
  if (type === StatementType.INSERT && insertsLiterals(words)) return;
  const reader = await connection.runAndReadAll(`EXPLAIN (FORMAT json) ${sql}`);
  const plans = reader.getRows().flatMap((row) => JSON.parse(String(row[1])) as PlanNode[]);
  for (const name of tableFunctionsIn(plans)) if (functions.refused.has(name)) refuseFunction(name);
}

/** `INSERT INTO name (columns) VALUES (literals), …`: it has no room for a function. */
function insertsLiterals(words: readonly Word[]): boolean {
  const values = words.findIndex(({ kind, value }) => kind === 'name' && value === 'values');
  const [insert, into, ...target] = words.slice(0, Math.max(values, 0));
  if (insert?.value !== 'insert' || into?.value !== 'into' || target.length === 0) return false;
  const isOfTarget = ({ kind, value }: Word) =>
    kind === 'quoted' ||
    (kind === 'name' ? !targetWords.has(value) : kind === 'symbol' && '.,()'.includes(value));
  const isLiteral = ({ kind, value }: Word) =>
    kind === 'text' ||
    kind === 'number' ||
    (kind === 'name' && (value === 'null' || value === 'true' || value === 'false')) ||
    (kind === 'symbol' && ',()+-'.includes(value));
  return target.every(isOfTarget) && words.slice(values + 1).every(isLiteral);
}

/** Words between INTO and VALUES with which other clauses begin. */
const targetWords: ReadonlySet<string> = new Set(['select', 'from', 'table', 'with', 'by', 'default', 'as']);

function* tableFunctionsIn(nodes: readonly PlanNode[]): Generator<string> {
  for (const { name, extra_info: info, children = [] } of nodes) {
    yield String(info?.Function ?? name).toLowerCase();
    yield* tableFunctionsIn(children);
  }
}
