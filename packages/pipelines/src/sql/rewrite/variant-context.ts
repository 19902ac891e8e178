/** A VARIANT beside an operator is converted to what the other side is, as Snowflake does. */

import { isGroup, isName, isSymbol, isWord, type Node } from '../tokens/tree.ts';
import type { Frame, Operand } from './frame.ts';
import { parseOperand } from './operands.ts';
import { renderVariantText } from './variants.ts';

export const comparisons = new Set(['=', '<>', '!=', '<', '>', '<=', '>=', '==']);
const numberText = /^'\d{1,18}(?:\.\d{1,18})?'$/;
const arithmetic = new Set(['+', '-', '*', '/', '%']);

/** The SQL of the operand that begins at `at`. */
export function renderInContext(nodes: readonly Node[], at: number, operand: Operand, frame: Frame): string {
  const [before, after] = [nodes[at - 1], nodes[operand.next]];
  const isNumber = [before, after].some((node) => node?.kind === 'symbol' && arithmetic.has(node.value));
  // DuckDB would take '2.5' beside a whole number as a whole number.
  if (isNumber && numberText.test(operand.sql)) return operand.sql.slice(1, -1);
  if (operand.isVariant !== 'yes') return operand.sql;
  const text = renderVariantText(operand.sql);
  if (isNumber) return `CAST(${text} AS DOUBLE)`;
  const compared = findCompared(nodes, at, operand.next);
  if (compared !== undefined) {
    if (compared.kind === 'number') return `CAST(${text} AS DOUBLE)`;
    if (isWord(compared, 'TRUE', 'FALSE')) return `CAST(${text} AS BOOLEAN)`;
    const column = readComparedColumn(nodes, at, operand.next, frame);
    return column === undefined ? text : `cast_to_type(${text}, ${column})`;
  }
  if (isSymbol(before, '||') || isSymbol(after, '||')) return text;
  if (
    isWord(before, 'WHERE', 'AND', 'OR', 'NOT', 'ON', 'QUALIFY') &&
    (after === undefined || isWord(after, 'AND', 'OR', 'THEN', 'GROUP', 'ORDER', 'LIMIT'))
  )
    return `CAST(${text} AS BOOLEAN)`;
  return operand.sql;
}

/** The column on the other side of `=` and the like, whose type decides. */
function readComparedColumn(
  nodes: readonly Node[],
  at: number,
  next: number,
  frame: Frame,
): string | undefined {
  const [before, after] = [nodes[at - 1], nodes[next]];
  let start: number | undefined;
  if (after?.kind === 'symbol' && comparisons.has(after.value)) start = next + 1;
  else if (before?.kind === 'symbol' && comparisons.has(before.value) && isName(nodes[at - 2])) {
    start = at - 2;
    while (isSymbol(nodes[start - 1], '.') && isName(nodes[start - 2])) start -= 2;
  }
  if (start === undefined || !isName(nodes[start])) return undefined;
  const other = parseOperand(nodes, start, frame);
  const isColumn = other?.isVariant === 'maybe' && !isGroup(nodes[other.next - 1]);
  return isColumn ? other.sql : undefined;
}

/** The other side of a comparison; any node that is no number stands for a text. */
function findCompared(nodes: readonly Node[], at: number, next: number): Node | undefined {
  const [before, after] = [nodes[at - 1], nodes[next]];
  if (before?.kind === 'symbol' && comparisons.has(before.value)) return nodes[at - 2] ?? before;
  if (isWord(before, 'LIKE', 'ILIKE', 'BETWEEN')) return before;
  if (after?.kind === 'symbol' && comparisons.has(after.value))
    return isSymbol(nodes[next + 1], '-', '+') ? (nodes[next + 2] ?? after) : (nodes[next + 1] ?? after);
  const word = isWord(after, 'NOT') ? next + 1 : next;
  if (isWord(nodes[word], 'BETWEEN')) return nodes[word + 1] ?? after;
  if (isWord(nodes[word], 'LIKE', 'ILIKE', 'RLIKE')) return nodes[word];
  const group = nodes[word + 1];
  if (isWord(nodes[word], 'IN')) return isGroup(group) ? (group.nodes[0] ?? group) : nodes[word];
  // CASE value WHEN compared
  if (before === undefined && isWord(after, 'WHEN')) return nodes[next + 1] ?? after;
  if (isWord(before, 'CASE') || (isWord(after, 'WHEN') && isWord(before, 'CASE'))) return after;
  return undefined;
}
