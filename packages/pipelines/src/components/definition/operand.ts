/**
 * What the value of a condition on a column is.
 *
 * - **literal**: `10`, `Berlin`, `'Berlin'`.
 * - **column**: the bare name of another known column.
 * - **expression**: SQL, such as `"other" + 1`, `current_date - 7` or `to_date('2026-01-31')`.
 */

import {
  type LexicalRules,
  lexicalRules,
  type Token,
  type Tokens,
  tokenize,
  UnterminatedError,
} from '../../sql/tokens/tokens.ts';
import { isSameName } from './plan-parts.ts';

export type Operand = { readonly kind: 'literal' | 'column' | 'expression'; readonly text: string };

/**
 * @param columns the columns of the source; undefined if only the warehouse knows them
 * @param rules of the SQL of an expression
 */
export function readOperand(
  written: string,
  subject: string,
  columns: readonly string[] | undefined,
  rules: LexicalRules,
): Operand {
  const text = written.trim();
  const literal = readQuoted(text);
  if (literal !== undefined) return { kind: 'literal', text: literal };
  const read = readTokens(text, rules);
  if (read !== undefined && beginsExpression(read.tokens) && isPaired(read))
    return { kind: 'expression', text };
  const column = isSameName(text, subject) ? undefined : columns?.find((each) => isSameName(each, text));
  return column === undefined ? { kind: 'literal', text: written } : { kind: 'column', text: column };
}

export function unquote(text: string): string {
  return readQuoted(text) ?? text;
}

/** The value of a text in quotes. A backslash in it is a character: it is a value of the format, not of SQL. */
function readQuoted(text: string): string | undefined {
  if (!text.startsWith("'") || !text.endsWith("'")) return undefined;
  const tokens = readTokens(text, lexicalRules.duckdb)?.tokens;
  return tokens?.length === 1 ? text.slice(1, -1).replaceAll("''", "'") : undefined;
}

/** Undefined if something in it has no end. */
export function readTokens(text: string, rules: LexicalRules): Tokens | undefined {
  try {
    return tokenize(text, rules);
  } catch (error) {
    if (error instanceof UnterminatedError) return undefined;
    throw error;
  }
}

const literalTypes = ['DATE', 'TIME', 'TIMESTAMP', 'INTERVAL'];
const moments = ['CURRENT_DATE', 'CURRENT_TIME', 'CURRENT_TIMESTAMP', 'LOCALTIMESTAMP', 'SYSDATE'];

/** All other texts are literals, so that most values need no quotes. */
function beginsExpression(tokens: readonly Token[]): boolean {
  const [first, second] = tokens;
  if (first === undefined) return false;
  const isFollowedBy = (characters: string) =>
    second === undefined || (second.kind === 'symbol' && characters.includes(second.value[0] as string));
  if (first.kind === 'quoted') return isFollowedBy('-+*/|:.([');
  if (first.kind === 'text') return second?.value === '::' || second?.value === '||';
  if (first.value === '(') return second?.kind === 'word' && second.value === 'SELECT';
  if (first.kind !== 'word') return false;
  if (literalTypes.includes(first.value) && second?.kind === 'text') return true;
  if (moments.includes(first.value) && isFollowedBy('-+:(')) return true;
  if (first.value === 'CASE') return second?.value === 'WHEN' && tokens.at(-1)?.value === 'END';
  return isCall(tokens);
}

/** A call, followed by nothing or by an operator. `Acme(UK) Ltd` and `Acme (UK)` are none. */
function isCall(tokens: readonly Token[]): boolean {
  let open = 1;
  while (tokens[open]?.value === '.' && tokens[open + 1]?.kind === 'word') open += 2;
  if (tokens[open]?.value !== '(' || tokens[open]?.from !== tokens[open - 1]?.to) return false;
  let depth = 0;
  for (const [index, { kind, value }] of tokens.entries()) {
    if (kind !== 'symbol' || index < open) continue;
    if (value === '(') depth += 1;
    if (value === ')') depth -= 1;
    if (depth > 0) continue;
    const after = tokens[index + 1];
    return after === undefined || (after.kind === 'symbol' && '-+*/|:'.includes(after.value[0] as string));
  }
  return false;
}

/** Whether nothing of the text can end the expression that is made of it: brackets and quotes are paired. */
function isWhole(text: string, rules: LexicalRules): boolean {
  const read = readTokens(text, rules);
  return read !== undefined && isPaired(read);
}

function isPaired({ tokens, source }: Tokens): boolean {
  let depth = 0;
  let end = 0;
  for (const { kind, value, from, to } of tokens) {
    // A comment could hide the end.
    if (source.slice(end, from).trim() !== '') return false;
    end = to;
    if (kind !== 'symbol') continue;
    if (value === '(') depth += 1;
    if (value === ')') depth -= 1;
    if (value === ';' || depth < 0) return false;
  }
  return depth === 0 && source.slice(end).trim() === '';
}

/** `select …` or `(select …)`, without its parentheses. */
export function readSubquery(operand: string, rules: LexicalRules): string | undefined {
  const read = readTokens(operand, rules);
  if (read === undefined || !isPaired(read)) return undefined;
  const [first, second] = read.tokens;
  const last = read.tokens.at(-1);
  if (isSelect(first)) return operand;
  if (first?.value !== '(' || last?.value !== ')' || !isSelect(second)) return undefined;
  const inner = operand.slice(first.to, last.from);
  return isWhole(inner, rules) ? inner : undefined;
}

const isSelect = (token: Token | undefined) => token?.kind === 'word' && token.value === 'SELECT';
