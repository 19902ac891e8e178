/** Operators that compare a text with a pattern: LIKE of several patterns, RLIKE, SIMILAR TO, and `~` of Redshift. */
import { SqlError } from '../dialect/dialect.ts';
import { quoteText, readText } from '../tokens/tokens.ts';
import { isGroup, isQuery, isSymbol, isWord, type Node, splitByComma } from '../tokens/tree.ts';
import { isReserved } from '../tokens/words.ts';
import { copyNodes, type Frame, refuse } from './frame.ts';
import { parseOperand } from './operands.ts';
import type { Walk } from './sequence-walk.ts';
import { translateSimilarPattern } from './similar-patterns.ts';

/** `x LIKE ANY (a, b)` and `x LIKE ALL (a, b)`, and Snowflake's `x RLIKE pattern` of the whole text. */
export function stepLike(walk: Walk, word: string): boolean {
  const { nodes, at, frame } = walk;
  if (word === 'SIMILAR') return stepSimilar(walk);
  if (word !== 'LIKE' && word !== 'ILIKE' && word !== 'RLIKE' && word !== 'REGEXP') return false;
  const isNegated = isWord(nodes[at - 1], 'NOT');
  if (word === 'RLIKE' || word === 'REGEXP') {
    const start = isNegated ? walk.pieces.length - 1 : walk.pieces.length;
    if (isGroup(nodes[at + 1]) && start <= walk.termStart) return false;
    const pattern = parseOperand(nodes, at + 1, frame);
    if (pattern === undefined) return false;
    replaceTerm(walk, isNegated, (left) => `regexp_full_match(${left}, ${pattern.sql})`, pattern.next);
    return true;
  }
  const [quantifier, group] = [nodes[at + 1], nodes[at + 2]];
  if (!isWord(quantifier, 'ANY', 'ALL') || !isGroup(group) || isQuery(group.nodes)) return false;
  const escaping =
    isWord(nodes[at + 3], 'ESCAPE') && nodes[at + 4]?.kind === 'text'
      ? ` ${copyNodes(frame, nodes.slice(at + 3, at + 5))}`
      : '';
  const patterns = splitByComma(group.nodes).map((part) => frame.render.expression(part, frame));
  const join = quantifier.value === 'ANY' ? ' OR ' : ' AND ';
  const all = (left: string) =>
    `(${patterns.map((each) => `${left} ${word} ${each}${escaping}`).join(join)})`;
  replaceTerm(walk, isNegated, all, at + (escaping === '' ? 3 : 5));
  return true;
}

/** Redshift's `x ~ pattern` and `x !~ pattern`, and both with `*`: a part of the text matches. */
export function stepMatch(walk: Walk): boolean {
  const { nodes, at, frame } = walk;
  const isNegated = isSymbol(nodes[at], '!') && isSymbol(nodes[at + 1], '~');
  const tilde = isNegated ? at + 1 : at;
  // Without an operand on the left it is the complement of a number.
  const before = nodes[at - 1];
  if (!isSymbol(nodes[tilde], '~') || before?.kind === 'symbol' || isReserved(nodes, at - 1)) return false;
  if (walk.pieces.length <= walk.termStart) return false;
  const ignoresCase = isSymbol(nodes[tilde + 1], '*') && nodes[tilde + 1]?.from === nodes[tilde]?.to;
  const pattern = parseOperand(nodes, tilde + (ignoresCase ? 2 : 1), frame);
  if (pattern === undefined) return false;
  const options = ignoresCase ? 'is' : 's';
  const sql = (left: string) =>
    `${isNegated ? 'NOT ' : ''}regexp_matches(${left}, ${pattern.sql}, '${options}')`;
  replaceTerm(walk, false, (left) => (isNegated ? `(${sql(left)})` : sql(left)), pattern.next);
  return true;
}

/** Redshift's `x SIMILAR TO pattern`. */
function stepSimilar(walk: Walk): boolean {
  const { nodes, at, frame } = walk;
  if (frame.script.names.vendor !== 'redshift' || !isWord(nodes[at + 1], 'TO')) return false;
  const pattern = nodes[at + 2];
  if (pattern?.kind !== 'text')
    refuse(frame, nodes[at], 'SIMILAR TO needs a pattern in quotes here: use ~ for one that is computed');
  const hasEscape = isWord(nodes[at + 3], 'ESCAPE') && nodes[at + 4]?.kind === 'text';
  const escaping = hasEscape ? readText((nodes[at + 4] as { value: string }).value) : '\\';
  const search = quoteText(translateSimilar(readText(pattern.value), escaping, nodes[at], frame));
  const isNegated = isWord(nodes[at - 1], 'NOT');
  const sql = (left: string) => `regexp_full_match(${left}, ${search}, 's')`;
  replaceTerm(walk, isNegated, sql, at + (hasEscape ? 5 : 3));
  return true;
}

function translateSimilar(pattern: string, escaping: string, node: Node | undefined, frame: Frame): string {
  try {
    return translateSimilarPattern(pattern, escaping);
  } catch (error) {
    if (error instanceof SqlError) refuse(frame, node, error.message);
    throw error;
  }
}

/** Replaces the operand on the left, and NOT after it. */
function replaceTerm(
  walk: Walk,
  isNegated: boolean,
  renderTerm: (left: string) => string,
  next: number,
): void {
  if (isNegated) walk.pieces.pop();
  const start = walk.termStart;
  const pieces = walk.pieces.splice(start);
  const left = pieces.join('');
  const blank = /^\s*/.exec(left)?.[0] ?? '';
  walk.pieces.push(`${blank}${isNegated ? 'NOT ' : ''}${renderTerm(left.trim())}`);
  walk.at = next;
}
