/**
 * Where a statement uses a VARIANT, DuckDB's JSON, as something else. DuckDB casts by itself then: to a text it leaves
 * the quotes, and beside a text it reads the text as JSON. Its plan names each cast, and its place in the SQL
 * (docs/adr/0098-variants-by-the-plan.md).
 */
import { findSiblings, readLeft, readRight } from './convert-operands.ts';
import { SqlError } from './dialect/dialect.ts';
import { createFrame, type Frame } from './rewrite/frame.ts';
import { render } from './rewrite/sequences.ts';
import { isGroup, isName, isQuery, isSymbol, isWord, type Node } from './tokens/tree.ts';
import type { Span, StatementNodes, TypeQuestion } from './variant-questions.ts';
import { repeatUses } from './variant-repeats.ts';

/** What a VARIANT, or what is beside one, is to become. */
type Wrap = 'text' | 'number' | 'variant';

export interface VariantUse extends Span {
  readonly wrap: Wrap;
}

interface PlanType {
  readonly id?: string;
  readonly type_info?: { readonly alias?: string } | null;
}

/** What is read of an expression of a plan. Numbers beyond all texts stand for no place. */
interface PlanNode {
  readonly expression_class?: string;
  readonly type?: string;
  readonly name?: string;
  readonly alias?: string;
  readonly query_location?: number;
  readonly comparison?: string;
  /** Of a comparison, such as that of IN with a subquery. */
  readonly left?: PlanNode;
  readonly right?: PlanNode;
  readonly child?: PlanNode;
  readonly return_type?: PlanType;
  readonly value?: { readonly type?: PlanType };
  readonly children?: readonly PlanNode[];
}

interface CastUse {
  readonly node: PlanNode;
  readonly parent: PlanNode | undefined;
}

const isVariant = (type: PlanType | undefined) => type?.type_info?.alias === 'JSON';
const whole = /^U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?$/;
const comparing = /^COMPARE_/;
const symbols = ['=', '<>', '!=', '<', '>', '<=', '>=', '=='];

/** A cast of the plan, as it is to be instead; undefined: it is right. */
function judgeCast({ node, parent }: CastUse): Wrap | undefined {
  const from = node.child?.return_type ?? node.child?.value?.type;
  const to = node.return_type;
  if (isVariant(from) === isVariant(to)) return undefined;
  if (!isVariant(from)) return from?.id === 'VARCHAR' ? 'variant' : undefined;
  if (to?.id === 'VARCHAR') return 'text';
  const isCompared = comparing.test(parent?.comparison ?? parent?.type ?? '');
  return isCompared && whole.test(to?.id ?? '') ? 'number' : undefined;
}

/** All casts of a plan, however deep. */
function listCasts(plan: unknown): CastUse[] {
  const casts: CastUse[] = [];
  const waiting: { value: unknown; parent: PlanNode | undefined }[] = [{ value: plan, parent: undefined }];
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    const { value, parent } = entry;
    if (typeof value !== 'object' || value === null) continue;
    const node = value as PlanNode;
    if (node.expression_class === 'BOUND_CAST') casts.push({ node, parent });
    if (node.expression_class === 'BOUND_AGGREGATE') refuseExtreme(node);
    const isParent = node.expression_class !== undefined || node.comparison !== undefined;
    for (const each of Object.values(value)) waiting.push({ value: each, parent: isParent ? node : parent });
  }
  return casts;
}

/** Whether numbers or texts are compared is known only to the values. @throws SqlError */
function refuseExtreme({ name = '', return_type }: PlanNode): void {
  if ((name === 'max' || name === 'min') && isVariant(return_type))
    throw new SqlError(
      `${name.toUpperCase()} of a semi-structured value needs its type: add a cast, such as ::number`,
    );
}

/** Reading of all nodes for all uses of a statement: nothing else goes on meanwhile. */
const mostComparisons = 4_000_000;
/** Comparisons of expressions that a SELECT may repeat. */
const mostRepeats = 2_000_000;

const countNodes = (nodes: readonly Node[]): number =>
  nodes.reduce((sum, node) => sum + 1 + (node.kind === 'group' ? countNodes(node.nodes) : 0), 0);

const advice = 'cast it where it is used, as in value::varchar';

/**
 * @param plan DuckDB's plan of the question
 * @throws SqlError for a use that has no place in the SQL of the statement
 */
export function findVariantUses(
  statement: StatementNodes,
  question: TypeQuestion,
  plan: unknown,
): VariantUse[] {
  const uses: VariantUse[] = [];
  const frame = createNodesFrame(statement);
  let left = mostComparisons;
  const size = countNodes(statement.nodes);
  for (const use of listCasts(plan)) {
    const wrap = judgeCast(use);
    if (wrap === undefined || isOwnCast(use)) continue;
    left -= size;
    if (left < 0)
      throw new SqlError(
        `semi-structured values are used as other types in too many places of a statement of this length: ${advice}, or divide the statement`,
      );
    const found = locate(statement, question, use, wrap, frame);
    if (found === 'explicit') continue;
    if (found === undefined)
      throw new SqlError(
        `a semi-structured value is used as another type in a way that has no place in this statement: ${advice}; make a view again that uses one so`,
      );
    uses.push(found);
  }
  const repeated = uses.length === 0 ? uses : repeatUses(statement, uses, mostRepeats);
  if (repeated === undefined)
    throw new SqlError(
      `semi-structured values are used as other types in too many places of a statement of this length: ${advice}, or divide the statement`,
    );
  return repeated;
}

/** The cast of NULL, and a value that is never computed. */
function isOwnCast({ node }: CastUse): boolean {
  return node.child?.expression_class === 'BOUND_CONSTANT' && node.child.value?.type?.id === 'NULL';
}

/** The position in the statement; undefined: none. DuckDB counts bytes. */
function mapPosition({ parts, indexOf }: TypeQuestion, place: number | undefined): number | undefined {
  const position = place === undefined ? undefined : indexOf(place);
  if (position === undefined) return undefined;
  const part = parts.find(({ at, from, to }) => position >= at && position < at + to - from);
  return part === undefined ? undefined : part.from + position - part.at;
}

function locate(
  statement: StatementNodes,
  question: TypeQuestion,
  { node, parent }: CastUse,
  wrap: Wrap,
  frame: Frame,
): VariantUse | 'explicit' | undefined {
  const position = mapPosition(question, node.query_location);
  if (position === undefined) {
    const operand = locateByParent(statement, question, node, parent, frame);
    if (operand !== undefined) return { ...operand, wrap };
    const member =
      wrap === 'variant' && node === parent?.right
        ? locateMember(statement, question, parent, frame)
        : undefined;
    return member === undefined ? undefined : { ...member, wrap: 'text' };
  }
  const siblings = findSiblings(statement.nodes, position);
  const at = siblings.findIndex(({ from }) => from === position);
  if (at < 0) return undefined;
  const isInner =
    node.child?.expression_class === 'BOUND_CAST' && node.child.query_location === node.query_location;
  if (!isInner && isCast(siblings[at])) return convertExplicit(siblings, at, node, wrap);
  const span = readOperand(siblings, at, node, frame);
  if (span === undefined) return undefined;
  // In a lambda the place of a cast can be that of its operand.
  if (isCastAround(statement, siblings, span)) return 'explicit';
  if (wrap === 'variant' && comparing.test(parent?.comparison ?? parent?.type ?? '')) {
    const compared = readCompared(statement, siblings, span, frame);
    if (compared !== undefined) return { ...compared, wrap: 'text' };
  }
  return { ...span, wrap };
}

const isCast = (node: Node | undefined) => isSymbol(node, '::') || isWord(node, 'CAST', 'TRY_CAST');

/** Whether the operand is all of what a CAST has before AS. */
function isCastAround({ nodes }: StatementNodes, siblings: readonly Node[], span: Span): boolean {
  const after = siblings.findIndex(({ from }) => from >= span.to);
  if (siblings[0]?.from !== span.from || !isWord(siblings[after], 'AS')) return false;
  const around = findAround(nodes, span.from);
  return isCast(around[around.findIndex((node) => isGroup(node) && node.to > span.from) - 1]);
}

/** `v::VARCHAR` and `CAST(v AS VARCHAR)` of a column. That of a call writes JSON on purpose. */
function convertExplicit(
  siblings: readonly Node[],
  at: number,
  { child }: PlanNode,
  wrap: Wrap,
): VariantUse | 'explicit' {
  if (wrap !== 'text' || child?.expression_class !== 'BOUND_REF') return 'explicit';
  const group = siblings[at + 1];
  const inner = isGroup(group)
    ? group.nodes.slice(
        0,
        group.nodes.findLastIndex((node) => isWord(node, 'AS')),
      )
    : [];
  let start = at - 1;
  while (isSymbol(siblings[start - 1], '.') && isName(siblings[start - 2])) start -= 2;
  let column: readonly Node[] = isSymbol(siblings[at], '::') ? siblings.slice(start, at) : inner;
  // `(v)` is the column; what is in the parentheses of a call has another name.
  for (let [only] = column; column.length === 1 && isGroup(only); [only] = column) {
    const last = only.nodes.at(-1);
    if (!child.alias || !isName(last) || !matchesName(last.text, child.alias)) break;
    column = only.nodes;
  }
  const [first, last] = [column[0], column.at(-1)];
  if (first === undefined || !isName(last) || !column.every((node) => isName(node) || isSymbol(node, '.')))
    return 'explicit';
  return { from: first.from, to: last.to, wrap };
}

/** The operand of a cast, which begins at `at`, or whose operator is there. */
function readOperand(
  siblings: readonly Node[],
  at: number,
  { child }: PlanNode,
  frame: Frame,
): Span | undefined {
  const first = siblings[at];
  if (first === undefined) return undefined;
  if (first.kind === 'symbol' && !isSymbol(first, '-', '+')) {
    const [left, right] = [readLeft(siblings, at, frame), readRight(siblings, at, frame)];
    return left === undefined || right === undefined ? undefined : { from: left.from, to: right.to };
  }
  const operand = frame.render.operand(siblings, at, frame);
  const last = operand === undefined ? undefined : siblings[operand.next - 1];
  if (last === undefined) return undefined;
  // Otherwise the place is in the SQL of a view.
  if (child?.expression_class === 'BOUND_REF' && isName(last) && !matchesName(last.text, child.alias))
    return undefined;
  return { from: first.from, to: last.to };
}

const matchesName = (text: string, alias: string | undefined) =>
  alias === undefined || alias === '' || text.toLowerCase() === alias.toLowerCase();

/** By the place of the call or the operator that the operand belongs to. */
function locateByParent(
  statement: StatementNodes,
  question: TypeQuestion,
  node: PlanNode,
  parent: PlanNode | undefined,
  frame: Frame,
): Span | undefined {
  const position = mapPosition(question, parent?.query_location);
  const index = parent?.children?.indexOf(node) ?? -1;
  if (position === undefined || index < 0) return undefined;
  const siblings = findSiblings(statement.nodes, position);
  const at = siblings.findIndex(({ from }) => from === position);
  const first = siblings[at];
  if (first?.kind === 'symbol')
    return index === 0 ? readLeft(siblings, at, frame) : readRight(siblings, at, frame);
  const group = siblings[at + 1];
  if (!isName(first) || !isGroup(group)) return undefined;
  const parts: Node[][] = [[]];
  for (const each of group.nodes) {
    if (isSymbol(each, ',')) parts.push([]);
    else parts.at(-1)?.push(each);
  }
  const [start, end] = [parts[index]?.[0], parts[index]?.at(-1)];
  return parts.length !== parent?.children?.length || start === undefined || end === undefined
    ? undefined
    : { from: start.from, to: end.to };
}

/**
 * The VARIANT that is compared with a subquery of texts, as in `v IN (SELECT …)`: the plan has no place of the
 * subquery, and that of the VARIANT only if it is no column. Undefined: several may be it.
 */
function locateMember(
  { nodes }: StatementNodes,
  question: TypeQuestion,
  { left }: PlanNode,
  frame: Frame,
): Span | undefined {
  const position = mapPosition(question, left?.query_location);
  const members = listMembers(nodes, frame).filter(({ span, last }) =>
    position === undefined
      ? isName(last) && left?.expression_class === 'BOUND_REF' && matchesName(last.text, left.alias)
      : span.from <= position && position < span.to,
  );
  return members.length === 1 ? members[0]?.span : undefined;
}

/** What is before `[NOT] IN (SELECT …)` and `= ANY (SELECT …)`. */
function listMembers(nodes: readonly Node[], frame: Frame): { span: Span; last: Node | undefined }[] {
  return nodes.flatMap((node, at) => {
    if (node.kind !== 'group') return [];
    const inner = listMembers(node.nodes, frame);
    const word = nodes[at - 1];
    if (!isQuery(node.nodes) || !isWord(word, 'IN', 'ANY', 'ALL', 'SOME')) return inner;
    const span = isWord(word, 'IN') ? readBefore(nodes, at - 1, frame) : readLeft(nodes, at - 2, frame);
    const last = nodes.find(({ to }) => to === span?.to);
    return span === undefined ? inner : [{ span, last }, ...inner];
  });
}

/** The VARIANT that a text is compared with. */
function readCompared(
  statement: StatementNodes,
  siblings: readonly Node[],
  text: Span,
  frame: Frame,
): Span | undefined {
  const start = siblings.findIndex(({ from }) => from === text.from);
  const before = siblings[start - 1];
  const after = siblings.findIndex(({ from }) => from >= text.to);
  if (isSymbol(before, ...symbols)) return readLeft(siblings, start - 1, frame);
  if (after >= 0 && isSymbol(siblings[after], ...symbols)) return readRight(siblings, after, frame);
  const between = isWord(before, 'AND')
    ? siblings.findLastIndex((node, index) => index < start - 1 && isWord(node, 'AND', 'BETWEEN'))
    : start - 1;
  if (isWord(siblings[between], 'BETWEEN')) return readBefore(siblings, between, frame);
  // The list of IN.
  if (start > 0 && !isSymbol(before, ',')) return undefined;
  const around = findAround(statement.nodes, text.from);
  const group = around.findIndex((node) => isGroup(node) && node.from < text.from && text.from < node.to);
  return isWord(around[group - 1], 'IN') ? readBefore(around, group - 1, frame) : undefined;
}

/** What is before IN, NOT IN, BETWEEN and NOT BETWEEN. */
function readBefore(nodes: readonly Node[], at: number, frame: Frame): Span | undefined {
  return readLeft(nodes, isWord(nodes[at - 1], 'NOT') ? at - 1 : at, frame);
}

/** The nodes beside the group that holds the position. */
function findAround(nodes: readonly Node[], position: number): readonly Node[] {
  const group = nodes.find((node) => node.kind === 'group' && node.from < position && position < node.to);
  if (group?.kind !== 'group') return nodes;
  const isDeeper = group.nodes.some(
    (node) => node.kind === 'group' && node.from < position && position < node.to,
  );
  return isDeeper ? findAround(group.nodes, position) : nodes;
}

function createNodesFrame({ sql, nodes }: StatementNodes): Frame {
  return createFrame(sql, nodes, { variables: new Map(), temporary: new Set(), names: {} }, render);
}

const wraps: Readonly<Record<Wrap, readonly [before: string, after: string]>> = {
  text: ['json_extract_string(', ", '$')"],
  number: ['CAST(json_extract_string(', ", '$') AS DOUBLE)"],
  variant: ['to_json(', ')'],
};

/** The statement with its uses written out. */
export function writeUses(sql: string, uses: readonly VariantUse[]): string {
  const distinct = [...new Map(uses.map((use) => [`${use.from} ${use.to}`, use])).values()];
  const inserted = distinct.flatMap(({ from, to, wrap }) => [
    // At one place what ends comes first, then what begins, the outer one before the inner one.
    { at: from, rank: [1, -to], text: wraps[wrap][0] },
    { at: to, rank: [0, -from], text: wraps[wrap][1] },
  ]);
  inserted.sort(
    (a, b) => a.at - b.at || (a.rank[0] ?? 0) - (b.rank[0] ?? 0) || (a.rank[1] ?? 0) - (b.rank[1] ?? 0),
  );
  let written = '';
  let end = 0;
  for (const { at, text } of inserted) {
    written += sql.slice(end, at) + text;
    end = at;
  }
  return written + sql.slice(end);
}

/** Whether a type of DuckDB is that of a VARIANT, and one that of a text, as DESCRIBE names them. */
export const isVariantType = (type: string) => type === 'JSON';
export const isTextType = (type: string) => type === 'VARCHAR';

/** The rows of an INSERT, with the columns that are VARIANTs for texts as texts. */
export function writeLandingRows(sql: string, { from, to }: Span, isText: readonly boolean[]): string {
  const list = isText.map((each, index) =>
    each ? `json_extract_string(#${index + 1}, '$')` : `#${index + 1}`,
  );
  return `${sql.slice(0, from)}SELECT ${list.join(', ')} FROM (${sql.slice(from, to)}\n) AS "rows"${sql.slice(to)}`;
}
