/**
 * DuckDB's plan has an expression once that a query repeats: what is grouped by, an aggregate, and what ORDER BY shares
 * with the list of SELECT. So a use of a VARIANT in one of them is one in all of them. The use is repeated with the
 * whole call, or the whole expression between commas, that it is in: the same call has the same types everywhere in one
 * SELECT (docs/adr/0107-uses-are-repeated-with-their-call.md).
 */
import { isGroup, isName, isQuery, isSymbol, isWord, type Node } from './tokens/tree.ts';
import type { Span, StatementNodes } from './variant-questions.ts';

/** Nodes that stand beside each other, from one index to another. */
interface Run {
  readonly siblings: readonly Node[];
  readonly at: number;
  readonly end: number;
}

interface Expression extends Run {
  /** `name(…)`, which has the same types whatever is beside it. */
  readonly isCall: boolean;
}

/** Equal nodes have equal numbers. Words are compared without case. */
class NodeNumbers {
  readonly #sql: string;
  readonly #numbers = new Map<string, number>();
  readonly #known = new Map<Node, number>();

  constructor(sql: string) {
    this.#sql = sql;
  }

  of(node: Node): number {
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    const text = isGroupNode(node)
      ? `${node.value}${node.nodes.map((each) => this.of(each)).join(' ')}`
      : node.kind === 'word'
        ? node.value
        : ` ${this.#sql.slice(node.from, node.to)}`;
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#known.set(node, number);
    return number;
  }
}

const isGroupNode = (node: Node | undefined) => node?.kind === 'group';

/** The parts of set operations, each with its own tables. */
function splitSelects(siblings: readonly Node[]): Run[] {
  const starts = siblings.flatMap((node, at) =>
    isWord(node, 'UNION', 'EXCEPT', 'INTERSECT') ? [at + 1] : [],
  );
  return [0, ...starts].map((at, index) => ({ siblings, at, end: starts[index] ?? siblings.length }));
}

/** All SELECTs of a statement: what is nested in others comes after them. */
function listSelects(siblings: readonly Node[]): Run[] {
  const runs = splitSelects(siblings);
  const search = (nodes: readonly Node[]): Run[] =>
    nodes.flatMap((node) =>
      node.kind !== 'group' ? [] : isQuery(node.nodes) ? listSelects(node.nodes) : search(node.nodes),
    );
  return [...runs, ...search(siblings)];
}

/** The lists of siblings of one SELECT: its own, and those in its parentheses that are no queries. */
function* listRuns({ siblings, at, end }: Run): Generator<Run> {
  yield { siblings, at, end };
  for (let index = at; index < end; index += 1) {
    const node = siblings[index];
    if (node?.kind === 'group' && !isQuery(node.nodes))
      yield* listRuns({ siblings: node.nodes, at: 0, end: node.nodes.length });
  }
}

/** Words that begin an expression, and those that end one. */
const borders = new Set(
  'ALL AND AS ASC BETWEEN BY CASE DESC DISTINCT ELSE END FROM GROUP HAVING IN LIMIT NOT NULLS ON OR ORDER OVER PARTITION QUALIFY RANGE ROWS SELECT THEN WHEN WHERE WINDOW'.split(
    ' ',
  ),
);
const insideWords = ['BETWEEN', 'CASE', 'END', 'IN', 'NOT'];
const notCalls = new Set(['CUBE', 'EXISTS', 'ROLLUP', 'SETS', 'VALUES']);
const isBorder = (node: Node | undefined) =>
  node === undefined || isSymbol(node, ',') || (node.kind === 'word' && borders.has(node.value));

/** Of CASE, the words in it belong to the expression. */
const endsExpression = (node: Node | undefined, depth: number) =>
  node === undefined ||
  isSymbol(node, ',') ||
  (depth === 0 && node.kind === 'word' && borders.has(node.value) && !isWord(node, ...insideWords));

/** The call or the expression around a use; undefined: the use is no part of the SELECT. */
function findExpression(select: Run, use: Span): Expression | undefined {
  const isIn = (node: Node) => node.from <= use.from && use.to <= node.to;
  let { siblings, at, end } = select;
  let call: Expression | undefined;
  for (;;) {
    const index = siblings.findIndex((node, each) => each >= at && each < end && isIn(node));
    const node = siblings[index];
    if (node?.kind !== 'group' || (node.from === use.from && node.to === use.to)) break;
    const name = siblings[index - 1];
    const isCall =
      isGroup(node) &&
      isName(name) &&
      !(name.kind === 'word' && (borders.has(name.value) || notCalls.has(name.value)));
    call = isCall ? { siblings, at: index - 1, end: index + 1, isCall } : undefined;
    ({ siblings, at, end } = { siblings: node.nodes, at: 0, end: node.nodes.length });
  }
  const first = siblings.findIndex((node, each) => each >= at && each < end && node.from === use.from);
  if (first < 0) return undefined;
  return call ?? cutExpression({ siblings, at, end }, first);
}

/** What is between commas and the words of clauses, without its alias. */
function cutExpression({ siblings, at, end }: Run, inside: number): Expression {
  let depth = 0;
  let from = inside;
  while (from > at && !endsExpression(siblings[from - 1], depth)) {
    from -= 1;
    depth += isWord(siblings[from], 'END') ? 1 : isWord(siblings[from], 'CASE') ? -1 : 0;
    // The use is in the CASE, whose words before it belong to it.
    if (depth < 0) depth = 0;
  }
  const start = siblings.findLastIndex((node, each) => each >= at && each < inside && isWord(node, 'CASE'));
  const isInCase = start >= 0 && !siblings.slice(start, inside).some((node) => isWord(node, 'END'));
  if (isInCase) from = start;
  depth = 0;
  let to = from;
  while (to < end && !endsExpression(siblings[to], depth)) {
    depth += isWord(siblings[to], 'CASE') ? 1 : isWord(siblings[to], 'END') ? -1 : 0;
    to += 1;
  }
  const [alias, value] = [siblings[to - 1], siblings[to - 2]];
  const hasAlias = to - 1 > inside && isName(alias) && value?.kind !== 'symbol' && !isWord(alias, 'END');
  return { siblings, at: from, end: hasAlias ? to - 1 : to, isCall: false };
}

/** Whether the expression stands by itself at a place, and is no part of a longer one that reads it otherwise. */
function standsAlone({ siblings, at, end }: Run, { isCall, ...expression }: Expression): boolean {
  const [before, after] = [siblings[at - 1], siblings[end]];
  if (isCall) return !isSymbol(before, '.');
  if (!isBorder(before)) return false;
  if (isBorder(after) || isName(after)) return true;
  const operators = expression.siblings
    .slice(expression.at, expression.end)
    .filter((node) => node.kind === 'symbol');
  return isSymbol(after, '||') && operators.every((node) => isSymbol(node, '||', '.'));
}

function* listNodes({ siblings, at, end }: Run): Generator<Node> {
  for (const node of siblings.slice(at, end)) {
    yield node;
    if (node.kind === 'group') yield* listNodes({ siblings: node.nodes, at: 0, end: node.nodes.length });
  }
}

/** Which nodes of an expression a use begins and ends with, however deep they are. */
function findEnds(use: Span, nodes: readonly Node[]): [first: number, last: number] {
  return [
    nodes.findIndex((node) => node.from === use.from),
    nodes.findLastIndex((node) => node.to === use.to),
  ];
}

/** Where expressions of the SELECT can begin, by their first node. */
function indexPlaces(select: Run, numbers: NodeNumbers): Map<number, Run[]> {
  const places = new Map<number, Run[]>();
  for (const run of listRuns(select))
    for (const [index, node] of run.siblings.slice(run.at, run.end).entries()) {
      const known = places.get(numbers.of(node));
      const place = { ...run, at: run.at + index };
      if (known === undefined) places.set(numbers.of(node), [place]);
      else known.push(place);
    }
  return places;
}

/**
 * @param most comparisons of expressions
 * @returns the uses with those in the same expressions; undefined: the statement is too long for that
 */
export function repeatUses<T extends Span>(
  { sql, nodes }: StatementNodes,
  uses: readonly T[],
  most: number,
): T[] | undefined {
  const numbers = new NodeNumbers(sql);
  const repeated = [...uses];
  const pending = new Set(uses);
  let left = most;
  for (const select of listSelects(nodes).reverse()) {
    const places = indexPlaces(select, numbers);
    const done = new Set<string>();
    for (const use of pending) {
      left -= 1;
      if (left < 0) return undefined;
      const expression = findExpression(select, use);
      if (expression === undefined) continue;
      pending.delete(use);
      const { siblings, at, end } = expression;
      // What makes a cast of all of it is not repeated with it.
      if (siblings[at]?.from === use.from && siblings[end - 1]?.to === use.to) continue;
      const parts = siblings.slice(at, end).map((node) => numbers.of(node));
      const [first, last] = findEnds(use, [...listNodes(expression)]);
      const key = `${parts.join(' ')} ${first} ${last}`;
      if (done.has(key)) continue;
      done.add(key);
      for (const place of places.get(parts[0] ?? -1) ?? []) {
        left -= 1;
        if (left < 0) return undefined;
        const other = { ...place, end: place.at + parts.length };
        if (other.end > place.end || (place.siblings === siblings && place.at === at)) continue;
        const same = parts.every(
          (number, index) => numbers.of(place.siblings[place.at + index] as Node) === number,
        );
        if (!same || !standsAlone(other, expression)) continue;
        const others = [...listNodes(other)];
        const [from, to] = [others[first]?.from, others[last]?.to];
        if (from !== undefined && to !== undefined) repeated.push({ ...use, from, to });
      }
    }
  }
  return repeated;
}
