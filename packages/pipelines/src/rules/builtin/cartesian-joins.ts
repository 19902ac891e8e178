/** The rule about joins without a condition. */
import type { Token } from '../../sql/tokens/tokens.ts';
import { listRows } from '../facts/reviewed-pipeline.ts';
import {
  expressionName,
  findClose,
  isAlwaysTrue,
  isSymbol,
  isWord,
  readName,
  readTokens,
  type SelectBlock,
  type SqlStatement,
  splitByComma,
} from '../facts/sql-statements.ts';
import { type PipelineRule, quote } from './rule.ts';
import { checkStatements } from './statement-findings.ts';

export const cartesianJoins: PipelineRule = {
  id: 'cartesian-joins',
  scope: 'pipeline',
  title: 'A join has a condition',
  level: 'WARNING',
  reason:
    'A join without a condition combines every row with every row. A thousand rows and a thousand rows are a million, and sums over them are wrong.',
  remedy: 'Add the condition of the join. Join a single row by a subquery.',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select o.id, c.name from orders o, customers c"}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: sql, parameters: {query: "select o.id, c.name from orders o join customers c on c.id = o.customer"}}`,
  check({ components }, report) {
    checkStatements(components, findCartesian, ({ name }, parameter, table) =>
      report({
        component: name,
        at: ['parameters', parameter],
        message: `the component ${quote(name)} joins ${quote(table)} without a condition: add one`,
      }),
    );
    for (const { name, type, parameters } of components) {
      if (type !== 'join') continue;
      const index = listRows(parameters.joinExpressions).findIndex(([sql = '']) => isConstant(sql));
      if (index < 0) continue;
      const key = listRows(parameters.joinExpressions)[index]?.[1] ?? '';
      const message = `the condition ${quote(key)} of the join ${quote(name)} holds for all rows: compare columns in it`;
      report({ component: name, at: ['parameters', 'joinExpressions'], message });
    }
  },
};

/** A condition that is written and holds for every row. An empty one is reported by the run. */
function isConstant(sql: string): boolean {
  const tokens = sql.trim() === '' ? [] : readTokens(sql);
  return tokens.length > 0 && isAlwaysTrue(tokens);
}

function findCartesian(statement: SqlStatement): string | undefined {
  for (const block of statement.selects) {
    const found = findCross(block, statement) ?? findComma(block, statement);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A plain table, and no subquery, function or name of a WITH clause. Those often give one row. */
function readPlainTable(
  tokens: readonly Token[],
  at: number,
  { commonTables }: SqlStatement,
): string | undefined {
  const name = readName(tokens, at);
  if (name === undefined || isSymbol(tokens[name.next], '(')) return undefined;
  if (isWord(tokens[at], 'TABLE', 'LATERAL', 'UNNEST', 'FLATTEN', 'VALUES', 'SELECT')) return undefined;
  const isCommon = name.parts.length === 1 && commonTables.has((name.parts[0] ?? '').toLowerCase());
  return isCommon || name.parts.includes(expressionName) ? undefined : name.parts.join('.');
}

/** Words that begin another join or the end of the FROM clause. */
const joinEnds = ['JOIN', 'LEFT', 'RIGHT', 'FULL', 'INNER', 'CROSS', 'NATURAL', 'ASOF', 'POSITIONAL'];

function findCross({ from, where }: SelectBlock, statement: SqlStatement): string | undefined {
  for (const [at, token] of from.entries()) {
    if (!isWord(token, 'JOIN') || isInBrackets(from, at)) continue;
    const table = readPlainTable(from, at + 1, statement);
    if (table === undefined || isWord(from[at - 1], 'NATURAL', 'ASOF', 'POSITIONAL')) continue;
    if (isWord(from[at - 1], 'CROSS')) {
      if (where.length === 0) return table;
      continue;
    }
    if (where.length > 0) continue;
    const condition = readCondition(from, at + 1);
    if (condition !== undefined && isAlwaysTrue(condition)) return table;
  }
  return undefined;
}

/** The tokens after ON; empty if there is neither ON nor USING; undefined for USING, or for a list of joins. */
function readCondition(from: readonly Token[], at: number): readonly Token[] | undefined {
  let start: number | undefined;
  for (let index = at; index < from.length; index += 1) {
    const token = from[index] as Token;
    if (isSymbol(token, '(')) index = findClose(from, index);
    else if (isWord(token, 'USING')) return undefined;
    else if (isWord(token, 'ON')) start ??= index + 1;
    else if (isWord(token, ...joinEnds) || isSymbol(token, ',')) {
      // `a JOIN b JOIN c ON … ON …` has its conditions at the end.
      return start === undefined ? undefined : from.slice(start, index);
    }
  }
  return start === undefined ? [] : from.slice(start);
}

function isInBrackets(tokens: readonly Token[], at: number): boolean {
  let depth = 0;
  for (const token of tokens.slice(0, at)) {
    if (isSymbol(token, '(')) depth += 1;
    else if (isSymbol(token, ')')) depth -= 1;
  }
  return depth > 0;
}

/** `FROM a, b` without WHERE. */
function findComma({ from, where }: SelectBlock, statement: SqlStatement): string | undefined {
  if (where.length > 0) return undefined;
  const [, ...others] = splitByComma(from);
  return others.map((part) => readPlainTable(part, 0, statement)).find((table) => table !== undefined);
}
