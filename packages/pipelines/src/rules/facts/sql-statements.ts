/**
 * Reads SQL for the rules: statements as tokens, and the SELECTs in them. Expressions `${…}` and sources `$T{…}`
 * count as names, because their values are not known before the run.
 */

import { splitTemplate, TemplateError } from '../../format/template.ts';
import {
  type LexicalRules,
  lexicalRules,
  type Token,
  tokenize,
  UnterminatedError,
} from '../../sql/tokens/tokens.ts';

export interface SqlStatement {
  readonly tokens: readonly Token[];
  /** Names that a WITH clause defines, in lower case. */
  readonly commonTables: ReadonlySet<string>;
  readonly selects: readonly SelectBlock[];
}

/** One SELECT. */
export interface SelectBlock {
  /** The index of the word SELECT. */
  readonly at: number;
  readonly items: readonly (readonly Token[])[];
  readonly from: readonly Token[];
  readonly where: readonly Token[];
  readonly groupBy: readonly Token[] | undefined;
}

/** A name in place of an expression. */
export const expressionName = 'expression__';
/** Statements of one text that are read. */
const statementLimit = 2_000;
const rules: LexicalRules = lexicalRules.snowflake;

/** Empty if the text cannot be read as SQL; the run reports that. */
export function readStatements(sql: string): SqlStatement[] {
  const tokens = readTokens(sql);
  const statements: SqlStatement[] = [];
  let from = 0;
  for (let at = 0; at <= tokens.length && statements.length < statementLimit; at += 1) {
    if (at < tokens.length && !isSymbol(tokens[at], ';')) continue;
    if (at > from) statements.push(createStatement(tokens.slice(from, at)));
    from = at + 1;
  }
  return statements;
}

export function readTokens(sql: string): readonly Token[] {
  try {
    const plain = splitTemplate(sql.replaceAll('$T{', '${'))
      .map((segment) => ('text' in segment ? segment.text : expressionName))
      .join('');
    return tokenize(plain, rules).tokens;
  } catch (error) {
    if (error instanceof UnterminatedError || error instanceof TemplateError) return [];
    throw error;
  }
}

function createStatement(tokens: readonly Token[]): SqlStatement {
  return { tokens, commonTables: findCommonTables(tokens), selects: findSelects(tokens) };
}

export const isSymbol = (token: Token | undefined, ...values: string[]) =>
  token?.kind === 'symbol' && values.includes(token.value);
export const isWord = (token: Token | undefined, ...values: string[]) =>
  token?.kind === 'word' && values.includes(token.value);
export const isName = (token: Token | undefined): token is Token =>
  token?.kind === 'word' || token?.kind === 'quoted';

/** `name AS (` or `name (columns) AS (` after WITH or a comma. */
function findCommonTables(tokens: readonly Token[]): Set<string> {
  const names = new Set<string>();
  for (const [at, token] of tokens.entries()) {
    if (
      !isName(token) ||
      !(isWord(tokens[at - 1], 'WITH', 'RECURSIVE') || isSymbol(tokens[at - 1], ',', ')'))
    )
      continue;
    let next = at + 1;
    if (isSymbol(tokens[next], '(')) next = findClose(tokens, next) + 1;
    if (isWord(tokens[next], 'AS') && isSymbol(tokens[next + 1], '(')) names.add(token.text.toLowerCase());
  }
  return names;
}

/** The index of the bracket that closes the one at `open`, or the end. */
export function findClose(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at += 1) {
    if (isSymbol(tokens[at], '(', '[')) depth += 1;
    else if (isSymbol(tokens[at], ')', ']')) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return tokens.length;
}

const setOperators = ['UNION', 'EXCEPT', 'INTERSECT', 'MINUS'];
const clauseWords = [
  'FROM',
  'WHERE',
  'GROUP',
  'HAVING',
  'QUALIFY',
  'WINDOW',
  'ORDER',
  'LIMIT',
  'FETCH',
  'OFFSET',
];

function findSelects(tokens: readonly Token[]): SelectBlock[] {
  return tokens.flatMap((token, at) => (isWord(token, 'SELECT') ? [readSelect(tokens, at)] : []));
}

function readSelect(tokens: readonly Token[], at: number): SelectBlock {
  const clauses = new Map<string, Token[]>([['SELECT', []]]);
  let clause = 'SELECT';
  for (let index = at + 1; index < tokens.length; index += 1) {
    const token = tokens[index] as Token;
    if (isSymbol(token, ')') || isWord(token, 'SELECT')) break;
    if (isWord(token, ...setOperators) && !isExclusion(tokens, index)) break;
    if (isSymbol(token, '(')) {
      const close = findClose(tokens, index);
      clauses.get(clause)?.push(...tokens.slice(index, close + 1));
      index = close;
    } else if (
      isWord(token, ...clauseWords) &&
      !isDistinctFrom(tokens, index) &&
      !isSymbol(tokens[index - 1], '.')
    ) {
      clause = token.value;
      clauses.set(clause, clauses.get(clause) ?? []);
    } else clauses.get(clause)?.push(token);
  }
  const groupBy = clauses.get('GROUP');
  return {
    at,
    items: splitByComma(clauses.get('SELECT') ?? []),
    from: clauses.get('FROM') ?? [],
    where: clauses.get('WHERE') ?? [],
    groupBy: groupBy?.slice(isWord(groupBy[0], 'BY') ? 1 : 0),
  };
}

/** `* EXCEPT (column)`. */
const isExclusion = (tokens: readonly Token[], at: number) => isSymbol(tokens[at - 1], '*');
const isDistinctFrom = (tokens: readonly Token[], at: number) =>
  isWord(tokens[at], 'FROM') && isWord(tokens[at - 1], 'DISTINCT') && isWord(tokens[at - 2], 'IS', 'NOT');

/** Splits at commas outside of brackets. */
export function splitByComma(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [];
  let part: Token[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] as Token;
    if (isSymbol(token, '(', '[')) {
      const close = findClose(tokens, at);
      part.push(...tokens.slice(at, close + 1));
      at = close;
    } else if (isSymbol(token, ',')) {
      parts.push(part);
      part = [];
    } else part.push(token);
  }
  if (part.length > 0 || parts.length > 0) parts.push(part);
  return parts;
}

/** A name with its qualifiers at a place: `a`, `a.b`, `a.b.c`. Undefined if there is none. */
export function readName(
  tokens: readonly Token[],
  at: number,
): { parts: string[]; next: number } | undefined {
  if (!isName(tokens[at])) return undefined;
  const parts: string[] = [];
  let next = at;
  for (;;) {
    const token = tokens[next];
    if (isName(token)) {
      parts.push(token.text);
      next += 1;
    } else parts.push('');
    if (!isSymbol(tokens[next], '.')) return { parts, next };
    next += 1;
  }
}

/** A table that a statement names, with the index of the first token of its name. */
export interface NamedTable {
  readonly parts: readonly string[];
  readonly at: number;
  readonly after: string;
}

/** Words after which the name of a table may stand. */
const tableWords = ['FROM', 'JOIN', 'INTO', 'UPDATE', 'TABLE', 'VIEW', 'USING', 'OVERWRITE'];
const passedWords = ['IF', 'NOT', 'EXISTS', 'INTO', 'TABLE', 'ONLY'];

/** Tables of a statement; names of WITH clauses and functions of tables are left out. */
export function listTables({ tokens, commonTables }: SqlStatement): NamedTable[] {
  const found: NamedTable[] = [];
  for (const [index, token] of tokens.entries()) {
    if (
      !isWord(token, ...tableWords) ||
      isDistinctFrom(tokens, index) ||
      isSymbol(tokens[index - 1], '.', '(')
    )
      continue;
    if (token.value === 'FROM' && isInCall(tokens, index)) continue;
    let at = index + 1;
    while (isWord(tokens[at], ...passedWords)) at += 1;
    const name = readName(tokens, at);
    if (
      name === undefined ||
      isSymbol(tokens[name.next], '(') ||
      isWord(tokens[at], 'SELECT', 'LATERAL', 'VALUES')
    )
      continue;
    if (name.parts.length === 1 && commonTables.has((name.parts[0] ?? '').toLowerCase())) continue;
    found.push({ parts: name.parts, at, after: token.value });
  }
  return found;
}

/** Tokens of a call before its word FROM. */
const callLimit = 1_000;

/** In `EXTRACT(day FROM x)` and `TRIM(LEADING '0' FROM x)` no table follows. */
function isInCall(tokens: readonly Token[], at: number): boolean {
  let depth = 0;
  const last = Math.max(0, at - callLimit);
  for (let index = at - 1; index >= last; index -= 1) {
    if (isSymbol(tokens[index], ')')) depth += 1;
    else if (isSymbol(tokens[index], '(')) {
      if (depth === 0)
        return isWord(tokens[index - 1], 'EXTRACT', 'TRIM', 'SUBSTRING', 'OVERLAY', 'POSITION');
      depth -= 1;
    } else if (depth === 0 && isWord(tokens[index], 'SELECT', 'DELETE')) return false;
  }
  return false;
}

/** Whether a condition holds for every row, as far as its text shows: `1 = 1`, `TRUE`. */
export function isAlwaysTrue(tokens: readonly Token[]): boolean {
  const inner = tokens.filter((token) => !isSymbol(token, '(', ')'));
  if (inner.length === 0) return true;
  if (inner.length === 1) return isWord(inner[0], 'TRUE') || inner[0]?.value === '1';
  const [left, comparator, right] = inner;
  return (
    inner.length === 3 &&
    isSymbol(comparator, '=', '==') &&
    (left?.kind === 'number' || left?.kind === 'text') &&
    left.value === right?.value
  );
}
