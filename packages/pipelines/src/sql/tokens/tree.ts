/** Tokens with their parentheses, brackets and braces matched, and ways to look at them. */
import type { Token, TokenKind } from './tokens.ts';

export interface Group {
  readonly kind: 'group';
  readonly value: '(' | '[' | '{';
  readonly nodes: readonly Node[];
  readonly from: number;
  readonly to: number;
}

export type Node = Token | Group;

/** A token of some kinds. */
type Of<K extends TokenKind> = Token & { readonly kind: K };

/** Deeper nesting than people write. DuckDB's own limit is 1,000. */
const depthLimit = 400;

export class NestingError extends Error {}

const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Undefined if the parentheses do not match. @throws NestingError */
export function buildTree(tokens: readonly Token[]): Node[] | undefined {
  const stack: { open: Token | undefined; nodes: Node[] }[] = [{ open: undefined, nodes: [] }];
  for (const token of tokens) {
    const top = stack.at(-1);
    if (top === undefined) return undefined;
    if (token.kind !== 'symbol') top.nodes.push(token);
    else if (token.value in closing) {
      if (stack.length > depthLimit) throw new NestingError();
      stack.push({ open: token, nodes: [] });
    } else if (token.value === ')' || token.value === ']' || token.value === '}') {
      stack.pop();
      if (top.open === undefined || closing[top.open.value] !== token.value) return undefined;
      const value = top.open.value as Group['value'];
      stack.at(-1)?.nodes.push({ kind: 'group', value, nodes: top.nodes, from: top.open.from, to: token.to });
    } else top.nodes.push(token);
  }
  return stack.length === 1 ? stack[0]?.nodes : undefined;
}

export function isWord(node: Node | undefined, ...words: readonly string[]): node is Of<'word'> {
  return node?.kind === 'word' && words.includes(node.value);
}

export function isSymbol(node: Node | undefined, ...symbols: readonly string[]): node is Of<'symbol'> {
  return node?.kind === 'symbol' && symbols.includes(node.value);
}

export function isGroup(
  node: Node | undefined,
  open: Group['value'] = '(',
): node is Group & { readonly value: Group['value'] } {
  return node?.kind === 'group' && node.value === open;
}

/** A name, quoted or not. */
export function isName(node: Node | undefined): node is Of<'word' | 'quoted'> {
  return node?.kind === 'word' || node?.kind === 'quoted';
}

/** Whether the words stand at a position, one after the other. */
export function hasWords(nodes: readonly Node[], at: number, ...words: readonly string[]): boolean {
  return words.every((word, index) => isWord(nodes[at + index], word));
}

const queryWords = ['SELECT', 'WITH', 'FROM', 'VALUES', 'TABLE', 'PIVOT', 'UNPIVOT', 'DESCRIBE', 'SUMMARIZE'];

/** Words that may follow a query in parentheses and belong to the whole query. */
const queryEnds = ['UNION', 'INTERSECT', 'EXCEPT', 'MINUS', 'ORDER', 'LIMIT', 'OFFSET', 'FETCH'];

/** Whether the nodes are a query, such as those of a subquery. `(SELECT …) > 0` is an expression. */
export function isQuery(nodes: readonly Node[]): boolean {
  const [first, second] = nodes;
  if (!isGroup(first)) return isWord(first, ...queryWords);
  return (second === undefined || isWord(second, ...queryEnds)) && isQuery(first.nodes);
}

/** The parts between commas. The names of a lambda belong to one part. */
export function splitByComma(nodes: readonly Node[]): Node[][] {
  if (nodes.length === 0) return [];
  const parts: Node[][] = [[]];
  let inLambda = false;
  for (const node of nodes) {
    if (isWord(node, 'LAMBDA')) inLambda = true;
    else if (isSymbol(node, ':')) inLambda = false;
    if (!inLambda && isSymbol(node, ',')) parts.push([]);
    else parts.at(-1)?.push(node);
  }
  return parts;
}

/** Where a chain of names `a.b.c`, also `a..b`, that begins at a position ends; the position if none does. */
export function findChainEnd(nodes: readonly Node[], at: number): number {
  if (!isName(nodes[at])) return at;
  let end = at + 1;
  while (isSymbol(nodes[end], '.')) {
    const doubled = isSymbol(nodes[end + 1], '.') ? 1 : 0;
    if (!isName(nodes[end + 1 + doubled])) break;
    end += 2 + doubled;
  }
  return end;
}

/** The names of a chain; `''` between the dots of `a..b`. */
export function readChain(nodes: readonly Node[]): string[] {
  const names: string[] = [];
  for (const [index, node] of nodes.entries()) {
    if (isName(node)) names.push(node.text);
    else if (isSymbol(nodes[index + 1], '.')) names.push('');
  }
  return names;
}

/** The number of the line, from 1. */
export function findLine(source: string, position: number): number {
  return createLineCounter(source)(position);
}

/** Gives the lines of positions that come in order. Each part of the text is read once. */
export function createLineCounter(source: string): (position: number) => number {
  let line = 1;
  let next = source.indexOf('\n');
  return (position) => {
    while (next >= 0 && next < position) {
      line += 1;
      next = source.indexOf('\n', next + 1);
    }
    return line;
  };
}
