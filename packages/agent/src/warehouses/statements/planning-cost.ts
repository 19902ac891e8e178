/**
 * How long DuckDB plans an expression. Its search for common subexpressions takes time by the cube of how deep
 * operators and functions are inside of each other, and does not stop when it is interrupted: `v || v || …` 670 times
 * takes 2 s, and every conversion of a VARIANT plans it again.
 */
import { lexicalRules, SqlError, tokenize } from '@headgate/pipelines/user-sql';

/** The cube of 670, in one expression or the sum of several. */
export const planningLimit = 300_000_000;
/** Shorter texts are below the limit. */
const shortText = 1_300;

const operators = new Set([
  '||',
  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
  '**',
  '^',
  '&',
  '|',
  '->',
  '->>',
  '::',
  '<<',
  '>>',
]);
/** What begins another expression at the same level of parentheses. `AND` and `OR` take a list of operands. */
const separators = new Set(
  ', ; SELECT FROM WHERE GROUP HAVING ORDER WHEN THEN ELSE END AND OR UNION ON'.split(' '),
);
const queries = new Set(['SELECT', 'WITH', 'VALUES', 'FROM']);

/** @throws SqlError above the limit */
export function measurePlanning(sql: string): number {
  if (sql.length < shortText) return 0;
  const { tokens } = tokenize(sql, lexicalRules.duckdb);
  /** Of each level of parentheses: how deep its expression is in others, and with its own operators. */
  const levels = [{ base: 0, depth: 0 }];
  let [cost, deepest] = [0, 0];
  for (const [index, { kind, value }] of tokens.entries()) {
    const level = levels.at(-1) ?? { base: 0, depth: 0 };
    if (kind === 'symbol' && value === '(') {
      const isQuery = queries.has(tokens[index + 1]?.value ?? '');
      const depth = isQuery ? 0 : level.depth + 1;
      levels.push({ base: depth, depth });
      cost += 3 * depth ** 2;
    } else if (kind === 'symbol' && value === ')') {
      if (levels.length > 1) levels.pop();
    } else if (kind === 'symbol' && operators.has(value)) {
      level.depth += 1;
      deepest = Math.max(deepest, level.depth);
      cost += 3 * level.depth ** 2;
    } else if (kind !== 'text' && kind !== 'quoted' && separators.has(value)) level.depth = level.base;
    if (cost > planningLimit)
      throw new SqlError(
        `the statement has expressions with up to ${deepest} operators in a row or inside of each other, which take too long to plan: divide them by columns of a subquery, or write concat(a, b, …) for a || b || …`,
      );
  }
  return cost;
}
