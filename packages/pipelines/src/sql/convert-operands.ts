/**
 * Converts what an operator or a function is applied to if DuckDB has none for its types, such as `+(DATE, BIGINT)`
 * and `round(VARCHAR)`. The types are DuckDB's: its error names them, and the place of the operator
 * (docs/adr/0085-types-come-from-duckdb.md).
 */
import { SqlError } from './dialect/dialect.ts';
import { createFrame, type Frame } from './rewrite/frame.ts';
import { render } from './rewrite/sequences.ts';
import { lexicalRules, tokenize, UnterminatedError } from './tokens/tokens.ts';
import {
  buildTree,
  isGroup,
  isSymbol,
  isWord,
  NestingError,
  type Node,
  splitByComma,
} from './tokens/tree.ts';

interface Refusal {
  /** Or the name of the function. */
  readonly operator: string;
  readonly types: readonly string[];
  /** Where the operator is in the SQL. */
  readonly position: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const refused =
  /^Binder Error: (?:No function matches the given name and argument types '|Could not choose a best candidate function for the function call ")([-+*/%]|\/\/|[a-z_]\w{0,63})\(([A-Z_\d(), ]{1,200})\)['"]/;
const place = /\nLINE (\d{1,9}): (.*)\n( *)\^\s*$/;

/**
 * @param sql a statement of DuckDB
 * @param message of DuckDB's error
 * @returns the statement with the operands converted; undefined: the error is another one
 */
export function convertOperands(sql: string, message: string): string | undefined {
  const refusal = readRefusal(sql, message);
  if (refusal === undefined) return undefined;
  const targets = chooseTypes(refusal, message);
  if (targets.every((type) => type === undefined)) return undefined;
  const operands = readOperands(sql, refusal);
  if (operands === undefined) return undefined;
  let converted = sql;
  for (const [index, type] of [...targets.entries()].reverse()) {
    const operand = operands[index];
    if (type === undefined || operand === undefined) continue;
    const { from, to } = operand;
    converted = `${converted.slice(0, from)}CAST(${converted.slice(from, to)} AS ${type})${converted.slice(to)}`;
  }
  return converted;
}

/** The place in a statement that an excerpt of DuckDB's error points at; undefined: there is no excerpt of it. */
export function findErrorPosition(sql: string, message: string): number | undefined {
  // The list of candidates before it is long.
  const [, line, excerpt, blanks] = place.exec(message.slice(message.lastIndexOf('\nLINE '))) ?? [];
  if (line === undefined || excerpt === undefined) return undefined;
  const before = excerpt.startsWith('...') ? 3 : 0;
  const shown = excerpt.slice(before).replace(/\.\.\.$/, '');
  const at = sql.indexOf(shown, findLineStart(sql, Number(line)));
  return at < 0 ? undefined : at + (blanks?.length ?? 0) - `LINE ${line}: `.length - before;
}

function readRefusal(sql: string, message: string): Refusal | undefined {
  const [, operator, types] = refused.exec(message) ?? [];
  const position = findErrorPosition(sql, message);
  if (operator === undefined || types === undefined || position === undefined) return undefined;
  // DuckDB writes names of functions in lower case.
  const written = sql.slice(position, position + operator.length).toLowerCase();
  return written === operator ? { operator, types: types.split(', '), position } : undefined;
}

function findLineStart(sql: string, line: number): number {
  let start = 0;
  for (let count = 1; count < line; count += 1) start = sql.indexOf('\n', start) + 1;
  return start;
}

const isFunction = (operator: string) => /^\w/.test(operator);
const texts = new Set(['VARCHAR', 'STRING_LITERAL', 'JSON']);
const isNumber = (type: string) =>
  /^(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|INTEGER_LITERAL|DOUBLE|FLOAT|DECIMAL\(\d+,\d+\))$/.test(type);
const isWhole = (type: string) => /^(?:U?BIGINT|U?HUGEINT|UINTEGER|DECIMAL\(\d+,0\))$/.test(type);

/** For each operand the type to convert it to. A text is a number; days are added to a date. */
function chooseTypes({ operator, types }: Refusal, message: string): (string | undefined)[] {
  const [left, right] = types;
  if (isFunction(operator) && !message.includes(`\t${operator}(DOUBLE`)) return [];
  if (types.every((type) => texts.has(type) || isNumber(type)))
    return types.map((type) => (texts.has(type) ? 'DOUBLE' : undefined));
  if ((operator === '+' || operator === '-') && left === 'DATE' && isWhole(right ?? ''))
    return [undefined, 'INTEGER'];
  if (operator === '+' && right === 'DATE' && isWhole(left ?? '')) return ['INTEGER', undefined];
  return [];
}

/** Undefined if the SQL cannot be read. */
function readOperands(
  sql: string,
  { operator, types, position }: Refusal,
): readonly (Span | undefined)[] | undefined {
  try {
    const nodes = buildTree(tokenize(sql, lexicalRules.duckdb).tokens) ?? [];
    const siblings = findSiblings(nodes, position);
    const at = siblings.findIndex((node) => node.from === position);
    if (isFunction(operator)) return readArguments(siblings[at + 1]);
    const frame = createFrame(
      sql,
      siblings,
      { variables: new Map(), temporary: new Set(), names: {} },
      render,
    );
    const right = readRight(siblings, at, frame);
    return types.length === 1 ? [right] : [readLeft(siblings, at, frame), right];
  } catch (error) {
    if (error instanceof SqlError || error instanceof UnterminatedError || error instanceof NestingError)
      return undefined;
    throw error;
  }
}

function readArguments(group: Node | undefined): readonly (Span | undefined)[] | undefined {
  if (!isGroup(group)) return undefined;
  return splitByComma(group.nodes).map((nodes) => {
    const [first, last] = [isWord(nodes[0], 'DISTINCT', 'ALL') ? nodes[1] : nodes[0], nodes.at(-1)];
    return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to };
  });
}

/** The nodes beside the one at the position. */
export function findSiblings(nodes: readonly Node[], position: number): readonly Node[] {
  const around = nodes.find((node) => node.kind === 'group' && node.from < position && position < node.to);
  return around?.kind === 'group' ? findSiblings(around.nodes, position) : nodes;
}

const sums = ['+', '-'];
const products = ['*', '/', '%', '//'];
const powers = ['^', '**'];

/** They bind less close than sums and products. */
const joins = ['||'];

/** The operators that bind closer than the one of `nodes[at]`, or as close. */
function listTighter(node: Node | undefined, orEqual: boolean): readonly string[] {
  if (isSymbol(node, ...joins)) return [...sums, ...products, ...powers, ...(orEqual ? joins : [])];
  // A comparison.
  if (!isSymbol(node, ...sums, ...products, ...powers)) return [...joins, ...sums, ...products, ...powers];
  const isSum = isSymbol(node, ...sums);
  const tighter = isSum ? [...products, ...powers] : powers;
  return orEqual ? [...tighter, ...(isSum ? sums : products)] : tighter;
}

/**
 * Where the innermost CASE around `at` begins, as what reads an operand would pass `at` by; else what the last comma
 * before it separates.
 */
function findBranch(nodes: readonly Node[], at: number): number {
  const begun: number[] = [];
  let from = at;
  while (from > 0 && !isSymbol(nodes[from - 1], ',')) from -= 1;
  for (let index = from; index < at; index += 1) {
    const node = nodes[index];
    if (isWord(node, 'CASE')) begun.push(index + 1);
    else if (isWord(node, 'END')) begun.pop();
  }
  return begun.at(-1) ?? from;
}

/** What the operator at `at` takes on its left: `a - b * c` of `a - b * c + d`. */
export function readLeft(nodes: readonly Node[], at: number, frame: Frame): Span | undefined {
  const joining = listTighter(nodes[at], true);
  let start = findBranch(nodes, at);
  let end = -1;
  for (let index = start; index < at; ) {
    const operand = frame.render.operand(nodes, index, frame);
    if (operand === undefined) {
      index += 1;
      continue;
    }
    if (end !== index - 1 || !isSymbol(nodes[end], ...joining)) start = index;
    index = operand.next;
    end = operand.next;
  }
  const [first, last] = [nodes[start], nodes[at - 1]];
  return end === at && first !== undefined && last !== undefined
    ? { from: first.from, to: last.to }
    : undefined;
}

export function readRight(nodes: readonly Node[], at: number, frame: Frame): Span | undefined {
  const joining = listTighter(nodes[at], false);
  let end = at;
  do {
    let index = end + 1;
    while (isSymbol(nodes[index], ...sums)) index += 1;
    const operand = frame.render.operand(nodes, index, frame);
    if (operand === undefined) return undefined;
    end = operand.next;
  } while (isSymbol(nodes[end], ...joining));
  const [first, last] = [nodes[at + 1], nodes[end - 1]];
  return first === undefined || last === undefined ? undefined : { from: first.from, to: last.to };
}
