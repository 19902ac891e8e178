/**
 * Reads SQL of Snowflake, Redshift or DuckDB as tokens. The texts of tokens and the gaps between them add up
 * to the given text, so that what is not translated stays as it was written.
 */

export type TokenKind = 'word' | 'quoted' | 'text' | 'number' | 'variable' | 'symbol';

export interface Token {
  readonly kind: TokenKind;
  /** A word in upper case; a quoted name without quotes; a symbol; otherwise as written. */
  readonly value: string;
  /** A name in its own case; otherwise as `value`. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

export interface Tokens {
  readonly tokens: readonly Token[];
  /** The text, with `--` for Snowflake's `//` before a comment, which DuckDB does not know. */
  readonly source: string;
}

/** A text or a quoted name without its end. */
export class UnterminatedError extends Error {}

const blank = /[\s\u00a0\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]+/y;
const lineComment = /--[^\n\r]*/y;
const slashComment = /\/\/[^\n\r]*/y;
const word = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const number = /(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?/y;
/** A name as Databricks quotes it. It has the same length in double quotes. */
const tickedName = /`[^`"]+`/y;
const variable = /\$(?:\d+|[A-Za-z_][\w$]*)/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const symbol = /::|:=|=>|->>|->|<=>|<=|>=|<>|!=|==|\|\||\/\/|\*\*|!~~\*?|~~\*?|[\s\S]/y;

/**
 * The source with comments and names as DuckDB writes them, at the same positions.
 *
 * @param escapes whether a backslash escapes the next character of a text, as in Snowflake and Redshift
 * @throws UnterminatedError
 */
export function tokenize(sql: string, escapes: boolean): Tokens {
  const tokens: Token[] = [];
  let source = '';
  let copied = 0;
  let from = 0;
  while (from < sql.length) {
    const skipped = findGapEnd(sql, from);
    if (skipped !== undefined) {
      if (sql.startsWith('//', from)) {
        source += `${sql.slice(copied, from)}--`;
        copied = from + 2;
      }
      from = skipped;
      continue;
    }
    const token = readToken(sql, from, escapes);
    tokens.push(token);
    if (sql[from] === '`' && token.kind === 'quoted') {
      source += `${sql.slice(copied, from)}"${token.value}"`;
      copied = token.to;
    }
    from = token.to;
  }
  return { tokens, source: source + sql.slice(copied) };
}

function findGapEnd(sql: string, from: number): number | undefined {
  const character = sql[from] as string;
  if (character === '-') return matchEnd(lineComment, sql, from);
  // In the middle of a line it is DuckDB's division of integers.
  if (character === '/') {
    if (sql[from + 1] === '*') return findCommentEnd(sql, from);
    return isAtLineStart(sql, from) ? matchEnd(slashComment, sql, from) : undefined;
  }
  return matchEnd(blank, sql, from);
}

function isAtLineStart(sql: string, from: number): boolean {
  for (let index = from - 1; index >= 0; index -= 1) {
    if (sql[index] === '\n' || sql[index] === '\r') return true;
    if (sql[index] !== ' ' && sql[index] !== '\t') return false;
  }
  return true;
}

function readToken(sql: string, from: number, escapes: boolean): Token {
  const character = sql[from] as string;
  if (character === "'") return createToken(sql, 'text', from, findQuoteEnd(sql, from, escapes));
  if (character === '"') {
    const to = findQuoteEnd(sql, from, false);
    const text = sql.slice(from + 1, to - 1).replaceAll('""', '"');
    return { kind: 'quoted', value: text, text, from, to };
  }
  const ticked = character === '`' ? matchEnd(tickedName, sql, from) : undefined;
  if (ticked !== undefined) {
    const text = sql.slice(from + 1, ticked - 1);
    return { kind: 'quoted', value: text, text, from, to: ticked };
  }
  if ((character === 'e' || character === 'E') && sql[from + 1] === "'")
    return createToken(sql, 'text', from, findQuoteEnd(sql, from + 1, true));
  if (character === '$') {
    const open = matchEnd(dollarTag, sql, from);
    if (open !== undefined) return createToken(sql, 'text', from, findDollarEnd(sql, from, open));
    const end = matchEnd(variable, sql, from);
    if (end !== undefined) return createToken(sql, 'variable', from, end);
  }
  const wordEnd = matchEnd(word, sql, from);
  if (wordEnd !== undefined) {
    const text = sql.slice(from, wordEnd);
    return { kind: 'word', value: text.toUpperCase(), text, from, to: wordEnd };
  }
  const numberEnd = matchEnd(number, sql, from);
  if (numberEnd !== undefined) return createToken(sql, 'number', from, numberEnd);
  return createToken(sql, 'symbol', from, matchEnd(symbol, sql, from) ?? from + 1);
}

function createToken(sql: string, kind: TokenKind, from: number, to: number): Token {
  const text = sql.slice(from, to);
  return { kind, value: text, text, from, to };
}

/** A doubled quote stands for one quote. */
function findQuoteEnd(sql: string, from: number, escapes: boolean): number {
  const quote = sql[from];
  for (let index = from + 1; index < sql.length; index += 1) {
    if (escapes && sql[index] === '\\') index += 1;
    else if (sql[index] !== quote) continue;
    else if (sql[index + 1] === quote) index += 1;
    else return index + 1;
  }
  throw new UnterminatedError();
}

/** A tag has dollars only at its ends, so that no part of the text is compared twice. */
function findDollarEnd(sql: string, from: number, open: number): number {
  const tag = sql.slice(from, open);
  for (let close = sql.indexOf('$', open); close >= 0; close = sql.indexOf('$', close + 1))
    if (sql.startsWith(tag, close)) return close + tag.length;
  throw new UnterminatedError();
}

/** Block comments nest. */
function findCommentEnd(sql: string, from: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = from + 2;
  let depth = 1;
  while (depth > 0) {
    const found = mark.exec(sql);
    if (found === null) return sql.length;
    depth += found[0] === '/*' ? 1 : -1;
  }
  return mark.lastIndex;
}

function matchEnd(pattern: RegExp, sql: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}

const escapedCharacters: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  n: '\n',
  r: '\r',
  t: '\t',
};

/**
 * A text with backslashes as DuckDB writes it. An escape that is not listed keeps its backslash, such as `\d`
 * and `\b` of regular expressions.
 */
export function translateText(text: string): string {
  if (!text.startsWith("'") || !text.includes('\\')) return text;
  return text.replaceAll(/\\([\s\S])/g, (whole, character: string) => {
    const value = escapedCharacters[character];
    if (value === undefined) return whole;
    return value === "'" ? "''" : value;
  });
}

/** The value of a text token. */
export function readText(text: string): string {
  if (text.startsWith('$')) {
    const tag = text.indexOf('$', 1) + 1;
    return text.slice(tag, -tag);
  }
  const plain = /^[eE]/.test(text) ? text.slice(1) : text;
  return translateText(plain).slice(1, -1).replaceAll("''", "'");
}

export function quoteText(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

export function quoteName(value: string): string {
  return `"${value.replaceAll('"', '""')}"`;
}

/** A name as it is written in SQL: in quotes. */
export function quoteNames(names: readonly string[]): string {
  return names.map(quoteName).join('.');
}
