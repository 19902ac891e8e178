/**
 * Walks the tokens of a query or an expression and renders what DuckDB writes otherwise. What it does not
 * know stays as it was written, so that DuckDB's own SQL comes out unchanged.
 */

import { addInterval, refuseZero, renderDivision } from '../functions/index.ts';
import { vendorOf } from '../tokens/names.ts';
import { readText } from '../tokens/tokens.ts';
import {
  findChainEnd,
  isGroup,
  isName,
  isQuery,
  isSymbol,
  isWord,
  type Node,
  splitByComma,
} from '../tokens/tree.ts';
import { clauseWords, isReserved } from '../tokens/words.ts';
import { hasRecursion, listCommonTables } from './common-tables.ts';
import { copyNodes, copyText, type Frame, type Render, refuse } from './frame.ts';
import { parseOperand } from './operands.ts';
import { stepLike, stepMatch } from './pattern-operators.ts';
import { renderPivot, renderPivotQuery } from './pivots.ts';
import { type Clause, Walk } from './sequence-walk.ts';
import { columnsOfValues, lacksCondition, renderTable } from './tables.ts';
import { comparisons, renderInContext } from './variant-context.ts';

export const render: Render = {
  operand: parseOperand,
  query: (nodes, frame) => renderSequence(nodes, frame, 'other', false),
  expression: (nodes, frame) => renderSequence(nodes, frame, 'expression', false),
  tables: (nodes, frame) => renderSequence(nodes, frame, 'from', true),
};

function renderSequence(nodes: readonly Node[], frame: Frame, clause: Clause, expectsTable: boolean): string {
  const walk = new Walk(nodes, frame);
  walk.clause = clause;
  walk.expectsTable = expectsTable;
  while (walk.at < nodes.length) step(walk);
  walk.endItem();
  if (walk.limit !== undefined) walk.pieces.push(` LIMIT ${walk.limit}`);
  return walk.sql;
}

function step(walk: Walk): void {
  const { nodes, at, frame } = walk;
  const node = nodes[at] as Node;
  const { factors } = walk;
  walk.factors = undefined;
  if (walk.expectsTable) {
    stepTable(walk);
    return;
  }
  if (node.kind === 'word' && stepWord(walk, node.value)) return;
  if (isSymbol(node, ',')) {
    const isItem = walk.item !== undefined;
    walk.endItem();
    walk.keep();
    if (isItem) walk.startItem();
    walk.expectsTable = walk.clause === 'from';
    walk.isJoin = false;
    walk.termStart = walk.pieces.length;
    return;
  }
  if (isPrefixAlias(walk)) {
    walk.keep(2);
    return;
  }
  if (frame.script.names.vendor === 'redshift' && stepMatch(walk)) return;
  const operand = parseOperand(nodes, at, frame);
  if (operand !== undefined) {
    const sql = renderInContext(nodes, at, operand, frame);
    walk.add(sql, operand.next);
    const piece = walk.pieces.length - 1;
    walk.factors = factors ?? { piece, gap: (walk.pieces[piece] ?? '').length - sql.length };
    return;
  }
  if (factors !== undefined && isSymbol(node, '*', '/', '%')) {
    walk.factors = factors;
    if (node.value === '/' && stepDivision(walk, factors)) return;
  }
  if (factors !== undefined && isSymbol(node, '+', '-') && stepInterval(walk, factors)) return;
  if (isSymbol(node, '@') && walk.clause !== 'expression')
    refuse(frame, node, 'a stage (@…) cannot be read here: load its files with file-load or s3-load first');
  walk.keep();
  if (node.kind === 'symbol' && comparisons.has(node.value)) walk.termStart = walk.pieces.length;
  if (isSymbol(node, '/', '%') && at > 0) stepDivisor(walk);
}

/** Replaces the factors before `/` by the quotient. */
function stepDivision(walk: Walk, { piece, gap }: NonNullable<Walk['factors']>): boolean {
  const { nodes, at, frame } = walk;
  const sign = isSymbol(nodes[at + 1], '-', '+') ? at + 2 : at + 1;
  const divisor = parseOperand(nodes, sign, frame);
  const written = walk.pieces.slice(piece).join('');
  const dividend = written.slice(gap);
  // A comment would be repeated.
  if (divisor === undefined || /--|\/\*/.test(dividend)) return false;
  const right = renderInContext(nodes, sign, divisor, frame);
  const signed = isSymbol(nodes[at + 1], '-') ? `-${right}` : right;
  const dialect = vendorOf(frame.script.names);
  walk.pieces.length = piece;
  walk.pieces.push(`${written.slice(0, gap)}${renderDivision(dividend, signed, dialect)}`);
  walk.at = divisor.next;
  return true;
}

/** `date + INTERVAL '1 month'` is a date in Snowflake. */
function stepInterval(walk: Walk, factors: NonNullable<Walk['factors']>): boolean {
  const { nodes, at, frame } = walk;
  const [sign, word, text] = [nodes[at], nodes[at + 1], nodes[at + 2]];
  if (!isWord(word, 'INTERVAL') || text?.kind !== 'text' || vendorOf(frame.script.names) !== 'snowflake')
    return false;
  const { piece, gap } = factors;
  const written = walk.pieces.slice(piece).join('');
  const moment = written.slice(gap);
  // `a - b + INTERVAL` adds to the difference.
  const before = walk.pieces.slice(0, piece).join('').trimEnd() + written.slice(0, gap).trimEnd();
  if (/[-+*/%]$/.test(before) || /--|\/\*/.test(moment)) return false;
  const sum = addInterval(moment, isSymbol(sign, '-') ? '-' : '+', readText(text.value));
  if (sum === undefined) return false;
  walk.pieces.length = piece;
  walk.pieces.push(`${written.slice(0, gap)}${sum}`);
  walk.at = at + 3;
  walk.factors = factors;
  return true;
}

/** A divisor of 0 is an error, as in Snowflake and Redshift. */
function stepDivisor(walk: Walk): void {
  const divisor = parseOperand(walk.nodes, walk.at, walk.frame);
  if (divisor === undefined) return;
  const sql = renderInContext(walk.nodes, walk.at, divisor, walk.frame);
  walk.add(/^nullif\s*\(/i.test(sql) ? sql : refuseZero(sql), divisor.next);
}

function stepTable(walk: Walk): void {
  const { nodes, at, frame } = walk;
  walk.expectsTable = false;
  walk.tableStart = walk.pieces.length;
  // DuckDB's `FROM alias: table`.
  if (isName(nodes[at]) && isSymbol(nodes[at + 1], ':')) {
    walk.keep(2);
    walk.expectsTable = true;
    return;
  }
  const table = renderTable(nodes, at, frame);
  if (table === undefined) {
    walk.keep();
    return;
  }
  const isConditional = table.isFlatten
    ? !lacksCondition(nodes, table.next)
    : !isInnerJoin(nodes, at, frame) || !endsTables(nodes[table.next]);
  const condition = walk.isJoin && !isConditional ? ' ON TRUE' : '';
  walk.add(`${table.sql}${condition}`, table.next);
}

const isInnerJoin = (nodes: readonly Node[], at: number, frame: Frame) =>
  vendorOf(frame.script.names) === 'snowflake' && !isWord(nodes[at - 2], 'LEFT', 'RIGHT', 'FULL', 'OUTER');

/** What follows a join without a condition, which Snowflake reads as one of all rows. */
const endsTables = (node: Node | undefined) =>
  node === undefined ||
  isSymbol(node, ',') ||
  isWord(node, 'WHERE', 'GROUP', 'HAVING', 'QUALIFY', 'ORDER', 'LIMIT');

/** Words that begin another operand of LIKE and the like. */
const termWords = new Set([
  'AND',
  'BY',
  'CASE',
  'ELSE',
  'HAVING',
  'NOT',
  'ON',
  'OR',
  'QUALIFY',
  'SELECT',
  'DISTINCT',
  'THEN',
  'WHEN',
  'WHERE',
]);

/** Whether the word was dealt with. */
function stepWord(walk: Walk, word: string): boolean {
  const { nodes, at } = walk;
  if (at === 0 && word === 'WITH' && walk.clause !== 'expression') return stepWith(walk);
  if (at === 0 && ['DESCRIBE', 'SUMMARIZE'].includes(word) && isName(nodes[1])) {
    walk.keep();
    return true;
  }
  if (word === 'LAMBDA') return stepLambda(walk);
  if (word === 'AS' && isName(nodes[at + 1])) {
    walk.keep(2);
    return true;
  }
  if (
    word === 'RENAME' &&
    isSymbol(nodes[at - 1], '*', ')') &&
    isName(nodes[at + 1]) &&
    isWord(nodes[at + 2], 'AS')
  ) {
    walk.keep();
    walk.add(`(${copyNodes(walk.frame, nodes.slice(at + 1, at + 4))})`, at + 4);
    return true;
  }
  if (walk.clause !== 'expression' && stepClause(walk, word)) return true;
  if (word === 'INTERVAL' && nodes[at + 1]?.kind !== 'text') {
    walk.keep();
    return true;
  }
  if (stepLike(walk, word)) return true;
  if (word === 'IN' && stepRows(walk)) return true;
  if (!isReserved(nodes, at)) return false;
  walk.keep();
  const negatesLike = word === 'NOT' && isWord(nodes[at + 1], 'LIKE', 'ILIKE', 'RLIKE', 'REGEXP', 'SIMILAR');
  if (termWords.has(word) && !negatesLike) walk.termStart = walk.pieces.length;
  return true;
}

/** `(a, b) IN ((1, 2), …)`, which DuckDB compares as one value each, so that NULL equals NULL. */
function stepRows(walk: Walk): boolean {
  const { nodes, at, frame } = walk;
  const isNegated = isWord(nodes[at - 1], 'NOT');
  const [left, list] = [nodes[isNegated ? at - 2 : at - 1], nodes[at + 1]];
  if (!isGroup(left) || !isGroup(list) || isQuery(left.nodes) || isQuery(list.nodes)) return false;
  const render = (part: readonly Node[]) => `(${frame.render.expression(part, frame)})`;
  const columns = splitByComma(left.nodes).map(render);
  const rows = splitByComma(list.nodes).map(([row, ...others]) =>
    others.length === 0 && isGroup(row) ? splitByComma(row.nodes).map(render) : [],
  );
  if (columns.length < 2 || rows.some(({ length }) => length !== columns.length)) return false;
  const pieces = walk.pieces.splice(isNegated ? -2 : -1);
  const blank = /^\s*/.exec(pieces[0] ?? '')?.[0] ?? '';
  const tests = rows.map(
    (row) => `(${row.map((value, index) => `${columns[index]} = ${value}`).join(' AND ')})`,
  );
  walk.add('', at + 2);
  walk.pieces.push(`${blank}${isNegated ? 'NOT ' : ''}(${tests.join(' OR ')})`);
  return true;
}

/** Words that begin a clause of a query. */
function stepClause(walk: Walk, word: string): boolean {
  const { nodes, at, frame } = walk;
  if (word === 'FROM' && !isWord(nodes[at - 1], 'DISTINCT')) {
    walk.endItem();
    walk.keep();
    walk.clause = 'from';
    walk.expectsTable = true;
    walk.isJoin = false;
    return true;
  }
  if (word === 'JOIN') {
    walk.keep();
    walk.clause = 'from';
    walk.expectsTable = true;
    walk.isJoin = !['CROSS', 'NATURAL', 'POSITIONAL'].some((each) => isWord(nodes[at - 1], each));
    return true;
  }
  if ((word === 'PIVOT' || word === 'UNPIVOT') && walk.clause === 'from') {
    const query = renderPivotQuery(nodes, at, frame);
    if (query !== undefined) {
      const table = walk.pieces.splice(walk.tableStart).join('');
      walk.add('', query.next);
      walk.pieces.push(query.of(table));
      return true;
    }
    const pivot = renderPivot(nodes, at, frame);
    if (pivot === undefined) return false;
    walk.add(pivot.sql, pivot.next);
    return true;
  }
  if (word === 'FETCH' && stepFetch(walk)) return true;
  if (word === 'MINUS' && isSetOperator(nodes, at)) {
    walk.endItem();
    walk.add('EXCEPT', at + 1);
    walk.clause = 'other';
    return true;
  }
  if (word === 'TOP' && isWord(nodes[at - 1], 'SELECT', 'DISTINCT', 'ALL')) {
    const count = nodes[at + 1];
    if (count?.kind !== 'number' && !isGroup(count)) return false;
    if (nodes.slice(at).some((node) => isWord(node, 'UNION', 'EXCEPT', 'INTERSECT', 'MINUS')))
      refuse(
        frame,
        nodes[at],
        'TOP in a part of a UNION is not supported: put the part into parentheses, with LIMIT',
      );
    walk.limit = copyNodes(frame, [count]);
    walk.add('', at + 2);
    return true;
  }
  if (!clauseWords.has(word) || (word === 'SET' && walk.clause === 'select')) return false;
  if (word === 'CONNECT' || (word === 'START' && isWord(nodes[at + 1], 'WITH'))) {
    if (isWord(nodes[at + 1], 'BY', 'WITH'))
      refuse(frame, nodes[at], 'CONNECT BY is not supported here: use WITH RECURSIVE');
    return false;
  }
  if (word === 'START') return false;
  walk.endItem();
  walk.keep();
  walk.clause = word === 'SELECT' ? 'select' : 'other';
  if (word === 'SELECT') walk.startSelect();
  walk.termStart = walk.pieces.length;
  return true;
}

/** `FETCH FIRST n ROWS ONLY` */
function stepFetch(walk: Walk): boolean {
  const { nodes, at, frame } = walk;
  let next = isWord(nodes[at + 1], 'FIRST', 'NEXT') ? at + 2 : at + 1;
  const count = nodes[next];
  if (count?.kind !== 'number') return false;
  next += 1;
  if (isWord(nodes[next], 'ROW', 'ROWS')) next += 1;
  if (isWord(nodes[next], 'ONLY')) next += 1;
  walk.endItem();
  walk.add(`LIMIT ${copyNodes(frame, [count])}`, next);
  walk.clause = 'other';
  return true;
}

function isSetOperator(nodes: readonly Node[], at: number): boolean {
  const next = nodes[at + 1];
  return (
    at > 0 &&
    (isWord(next, 'SELECT', 'ALL', 'WITH', 'VALUES', 'DISTINCT') || (isGroup(next) && isQuery(next.nodes)))
  );
}

/** `WITH [RECURSIVE] name [(columns)] AS [MATERIALIZED] (query), …` */
function stepWith(walk: Walk): boolean {
  const { nodes, frame } = walk;
  for (const name of listCommonTables(nodes)) frame.commonTables.add(name);
  walk.keep();
  if (isWord(nodes[walk.at], 'RECURSIVE') && isName(nodes[walk.at + 1])) walk.keep();
  else if (vendorOf(frame.script.names) === 'snowflake' && hasRecursion(nodes))
    walk.pieces.push(' RECURSIVE');
  for (;;) {
    const start = walk.at;
    if (!isName(nodes[start])) return true;
    let end = start + 1;
    const hasColumns = isGroup(nodes[end]);
    if (hasColumns) end += 1;
    if (!isWord(nodes[end], 'AS')) return true;
    end += 1;
    if (isWord(nodes[end], 'NOT')) end += 1;
    if (isWord(nodes[end], 'MATERIALIZED')) end += 1;
    const group = nodes[end];
    if (!isGroup(group)) return true;
    walk.keep();
    if (!hasColumns) walk.pieces.push(columnsOfValues(group, frame));
    walk.keep(end - start - 1);
    walk.add(renderQueryGroup(walk, end), end + 1);
    if (!isSymbol(nodes[walk.at], ',')) return true;
    walk.keep();
  }
}

function renderQueryGroup({ nodes, frame }: Walk, at: number): string {
  const group = nodes[at];
  if (!isGroup(group) || group.nodes.length === 0) return copyNodes(frame, nodes.slice(at, at + 1));
  const [first, last] = [group.nodes[0] as Node, group.nodes.at(-1) as Node];
  return `${copyText(frame, group.from, first.from)}${render.query(group.nodes, frame)}${copyText(frame, last.to, group.to)}`;
}

/** DuckDB's `lambda x, y: …`. */
function stepLambda(walk: Walk): boolean {
  const end = walk.nodes.findIndex((node, index) => index > walk.at && isSymbol(node, ':'));
  if (end < 0) return false;
  walk.keep(end + 1 - walk.at);
  return true;
}

/** DuckDB's `SELECT alias: expression`. */
function isPrefixAlias({ nodes, at, clause }: Walk): boolean {
  const [before, name, colon, after] = [nodes[at - 1], nodes[at], nodes[at + 1], nodes[at + 2]];
  if (clause !== 'select' || !isName(name) || !isSymbol(colon, ':') || after === undefined) return false;
  const isItem = isWord(before, 'SELECT', 'DISTINCT', 'ALL') || isSymbol(before, ',');
  return (
    isItem &&
    (after.from > colon.to || after.kind === 'number' || after.kind === 'text' || after.kind === 'group') &&
    findChainEnd(nodes, at) === at + 1
  );
}
