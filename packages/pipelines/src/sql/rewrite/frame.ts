/** What the rewriter knows while it rewrites one statement, and what it gathers. */
import { SqlError, type TableReference } from '../dialect/dialect.ts';
import type { NameMapping } from '../tokens/names.ts';
import type { Token } from '../tokens/tokens.ts';
import { findLine, type Group, isWord, type Node } from '../tokens/tree.ts';
import type { IsVariant } from './variants.ts';

/** What a script's statements share. */
export interface ScriptState {
  /** The values of session variables by name in lower case; undefined: known only to the warehouse. */
  readonly variables: Map<string, string | undefined>;
  /** Temporary tables, by their place in lower case. */
  readonly temporary: Set<string>;
  /** Changed by USE. */
  names: NameMapping;
}

export interface Frame {
  readonly source: string;
  readonly script: ScriptState;
  readonly notes: Set<string>;
  readonly before: string[];
  readonly after: string[];
  readonly reads: TableReference[];
  readonly writes: TableReference[];
  /** The queries of WITH, in lower case. */
  readonly commonTables: Set<string>;
  /** The tables after FROM, for columns with a schema before them: `schema.table.column`. */
  readonly placed: { names: readonly string[]; place: readonly string[] }[];
  /** Aliases of FLATTEN, in lower case; '' if one has none. */
  readonly flattened: Set<string>;
  /** Whether a column may hold a VARIANT, so that a cast to text must look. */
  readonly hasVariants: boolean;
  /** Whether the names of the columns of a query can matter. */
  readonly hasNames: boolean;
  readonly render: Render;
  /** Each operand is rendered once, by its first node: otherwise the time would double with each parenthesis. */
  readonly operands: Map<Node, Operand | undefined>;
}

/** A value in an expression: a column, literal, call, subquery or CASE, with its subscripts, paths and casts. */
export interface Operand {
  readonly sql: string;
  /** The index of the node after it. */
  readonly next: number;
  readonly isVariant: IsVariant;
}

/** Ways to render nodes, which call each other. */
export interface Render {
  operand(nodes: readonly Node[], at: number, frame: Frame): Operand | undefined;
  /** A query, or a part of one. */
  query(nodes: readonly Node[], frame: Frame): string;
  /** An expression, or several between commas. */
  expression(nodes: readonly Node[], frame: Frame): string;
  /** Tables after FROM, or in the parentheses of a join. */
  tables(nodes: readonly Node[], frame: Frame): string;
}

export function createFrame(
  source: string,
  nodes: readonly Node[],
  script: ScriptState,
  render: Render,
): Frame {
  return {
    source,
    script,
    notes: new Set(),
    before: [],
    after: [],
    reads: [],
    writes: [],
    commonTables: new Set(),
    placed: [],
    flattened: new Set(),
    hasVariants: showsVariants(nodes),
    hasNames: !isWord(nodes[0], 'INSERT', 'MERGE', 'UPDATE', 'DELETE'),
    render,
    operands: new Map(),
  };
}

const variantWords = new Set([
  'FLATTEN',
  'PARSE_JSON',
  'TRY_PARSE_JSON',
  'VARIANT',
  'OBJECT_CONSTRUCT',
  'ARRAY_CONSTRUCT',
  'GET_PATH',
  'TO_VARIANT',
  'SUPER',
]);

function showsVariants(nodes: readonly Node[]): boolean {
  return nodes.some((node, index) =>
    node.kind === 'group'
      ? showsVariants(node.nodes) || isKey(node, nodes[index - 1])
      : (node.kind === 'word' && variantWords.has(node.value)) || startsPath(nodes, index),
  );
}

/** Whether it is `['key']` after a value. */
function isKey(group: Group, before: Node | undefined): boolean {
  return (
    group.value === '[' &&
    group.nodes.length === 1 &&
    group.nodes[0]?.kind === 'text' &&
    before?.to === group.from
  );
}

/** Whether a `:` is followed by a key at once, as in `a:b`, and not as in `{a: b}` and DuckDB's `a: b`. */
export function startsPath(nodes: readonly Node[], at: number): boolean {
  const [before, colon, key] = [nodes[at - 1], nodes[at], nodes[at + 1]];
  if (colon?.kind !== 'symbol' || colon.value !== ':' || before === undefined || key === undefined)
    return false;
  if (key.kind !== 'word' && key.kind !== 'quoted') return false;
  return (
    key.from === colon.to && (before.kind === 'word' || before.kind === 'quoted' || before.kind === 'group')
  );
}

/** @throws SqlError with the line */
export function refuse(frame: Frame, node: Node | undefined, fault: string): never {
  throw new SqlError(`${fault} (line ${findLine(frame.source, node?.from ?? 0)})`);
}

export function copyText(frame: Frame, from: number, to: number): string {
  return frame.source.slice(from, to);
}

/** The text of nodes as it was written. */
export function copyNodes(frame: Frame, nodes: readonly Node[]): string {
  const [first, last] = [nodes[0], nodes.at(-1)];
  return first === undefined || last === undefined ? '' : copyText(frame, first.from, last.to);
}

export function writtenText(frame: Frame, token: Token): string {
  return frame.source.slice(token.from, token.to);
}
