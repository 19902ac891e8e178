/**
 * The only reader of SQL's text in the product. It reads SQL of Snowflake, Redshift and DuckDB as tokens, by the
 * lexical rules of each. The texts of tokens and the gaps between them add up to the given text, so that what is
 * not translated stays as it was written. It takes linear time.
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
  /** The text with comments, blanks and names as DuckDB writes them, at the same positions. */
  readonly source: string;
}

/** Where the kinds of SQL differ. All have `--`, texts in `$$` and `$tag$`, and blanks beyond ASCII. */
export interface LexicalRules {
  /** A backslash escapes the next character of a text. Else only in `E'…'`. */
  readonly hasEscapes: boolean;
  /** `//` begins a comment at the beginning of a line, and wherever no operator can stand. */
  readonly hasSlashComments: boolean;
  /** A block comment ends with the comments in it. Else it ends at the first end. */
  readonly nestsComments: boolean;
  /** Names may stand in backticks, as in Databricks. */
  readonly hasTickedNames: boolean;
}

export type SqlKind = 'snowflake' | 'redshift' | 'duckdb' | 'postgres';

export const lexicalRules: Readonly<Record<SqlKind, LexicalRules>> = {
  snowflake: { hasEscapes: true, hasSlashComments: true, nestsComments: false, hasTickedNames: true },
  redshift: { hasEscapes: true, hasSlashComments: false, nestsComments: true, hasTickedNames: true },
  duckdb: { hasEscapes: false, hasSlashComments: false, nestsComments: true, hasTickedNames: false },
  postgres: { hasEscapes: false, hasSlashComments: false, nestsComments: true, hasTickedNames: false },
};

const unended = {
  text: ["text in '…'", "'"],
  dollars: ['text in dollars', 'the same dollars'],
  quoted: ['name in "…"', '"'],
  comment: ['comment /*', '*/'],
} as const;

/** A text, a quoted name or a comment without its end. */
export class UnterminatedError extends Error {
  readonly from: number;

  constructor(what: keyof typeof unended, from: number) {
    const [name, end] = unended[what];
    super(`a ${name} has no end: write ${end} after it`);
    this.from = from;
  }
}

const blank = /[ \t\n\r\f]+/y;
/** DuckDB takes these for blanks, too. */
const wideBlank = /[\u00a0\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]+/y;
const lineComment = /--[^\n\r]*/y;
const slashComment = /\/\/[^\n\r]*/y;
/** Letters and digits are ASCII, or anything beyond it that is not a blank. */
const word =
  /[A-Za-z_\u0080-\u009f\u00a1-\u1fff\u200e-\u202e\u2030-\u205e\u2061-\u2fff\u3001-\ufefe\uff00-\uffff][\w$\u0080-\u009f\u00a1-\u1fff\u200e-\u202e\u2030-\u205e\u2061-\u2fff\u3001-\ufefe\uff00-\uffff]*/y;
const number = /(?:\d+(?:_\d+)*(?:\.(?!\.)(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?/y;
/** It has the same length in double quotes. */
const tickedName = /`[^`"]+`/y;
const variable = /\$(?:\d+|[A-Za-z_][\w$]*)/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const symbol = /::|:=|=>|->>|->|<=>|<=|>=|<>|!=|==|\|\||\/\/(?!\*)|\*\*|!~~\*?|~~\*?|[\s\S]/y;

/** @throws UnterminatedError */
export function tokenize(sql: string, rules: LexicalRules): Tokens {
  const reader = new TokenReader(sql, rules);
  const tokens: Token[] = [];
  for (let token = reader.next(); token !== undefined; token = reader.next()) tokens.push(token);
  return { tokens, source: reader.source };
}

/** Gives one token after the other: a long text is read only as far as they are taken. */
export class TokenReader {
  readonly #sql: string;
  readonly #rules: LexicalRules;
  #at = 0;
  #last: Token | undefined;
  /** The last token is a text in `E'…'`, or goes on with one. */
  #isEscaping = false;
  /** A block comment stands between the last token and this position. */
  #isAfterBlockComment = false;
  #written = '';
  #copied = 0;

  constructor(sql: string, rules: LexicalRules) {
    this.#sql = sql;
    this.#rules = rules;
  }

  /** The text up to the last token as DuckDB writes it, and the rest as it is. */
  get source(): string {
    return this.#written + this.#sql.slice(this.#copied);
  }

  /** @throws UnterminatedError */
  next(): Token | undefined {
    const sql = this.#sql;
    while (this.#at < sql.length) {
      const end = this.#findGapEnd(this.#at);
      if (end === undefined) {
        const token = this.#readToken(this.#at);
        if (sql[token.from] === '`' && token.kind === 'quoted') this.#replace(token.from, `"${token.value}"`);
        this.#last = token;
        this.#isAfterBlockComment = false;
        this.#at = token.to;
        return token;
      }
      this.#at = end;
    }
    return undefined;
  }

  #replace(from: number, written: string): void {
    this.#written += this.#sql.slice(this.#copied, from) + written;
    this.#copied = from + written.length;
  }

  /** The end of the blanks or of the comment at a position. */
  #findGapEnd(from: number): number | undefined {
    const sql = this.#sql;
    const character = sql[from] as string;
    if (character === '-') return matchEnd(lineComment, sql, from);
    if (character === '/') {
      if (sql[from + 1] === '*') return this.#passBlockComment(from);
      if (sql[from + 1] !== '/' || !this.#isSlashComment(from)) return undefined;
      this.#replace(from, '--');
      return matchEnd(slashComment, sql, from);
    }
    const end = matchEnd(blank, sql, from);
    if (end !== undefined || character < '\u0080') return end;
    const wideEnd = matchEnd(wideBlank, sql, from);
    if (wideEnd !== undefined) this.#replace(from, ' '.repeat(wideEnd - from));
    return wideEnd;
  }

  #passBlockComment(from: number): number {
    const { nestsComments } = this.#rules;
    this.#isAfterBlockComment = true;
    const to = findCommentEnd(this.#sql, from, nestsComments);
    const inside = this.#sql.slice(from + 2, to);
    // For DuckDB each of these would begin another comment.
    if (!nestsComments && inside.includes('/*')) this.#replace(from + 2, inside.replaceAll('/*', ' *'));
    return to;
  }

  /** Within a line, `//` after a value is DuckDB's division of integers. */
  #isSlashComment(from: number): boolean {
    if (!this.#rules.hasSlashComments) return false;
    const last = this.#last;
    if (last === undefined || (last.kind === 'symbol' && ![')', ']', '}'].includes(last.value))) return true;
    return isAtLineStart(this.#sql, from);
  }

  #readToken(from: number): Token {
    const sql = this.#sql;
    const character = sql[from] as string;
    const isContinued = this.#isEscaping && this.#continuesText(from);
    this.#isEscaping = isContinued;
    if (character === "'") {
      const to = findQuoteEnd(sql, from, isContinued || this.#rules.hasEscapes);
      return createToken(sql, 'text', from, to);
    }
    if (character === '"') return createQuoted(sql, from, findQuoteEnd(sql, from, false));
    if ((character === 'e' || character === 'E') && sql[from + 1] === "'") {
      this.#isEscaping = true;
      return createToken(sql, 'text', from, findQuoteEnd(sql, from + 1, true));
    }
    if (character === '`' && this.#rules.hasTickedNames) {
      const ticked = matchEnd(tickedName, sql, from);
      if (ticked !== undefined) return createQuoted(sql, from, ticked);
    }
    return readPlainToken(sql, from);
  }

  /** A text after the end of a line, with only blanks and line comments between, goes on with the one before. */
  #continuesText(from: number): boolean {
    if (this.#sql[from] !== "'" || this.#isAfterBlockComment) return false;
    const gap = this.#sql.slice(this.#last?.to ?? 0, from);
    return gap.includes('\n') || gap.includes('\r');
  }
}

function isAtLineStart(sql: string, from: number): boolean {
  for (let index = from - 1; index >= 0; index -= 1) {
    if (sql[index] === '\n' || sql[index] === '\r') return true;
    if (sql[index] !== ' ' && sql[index] !== '\t') return false;
  }
  return true;
}

function readPlainToken(sql: string, from: number): Token {
  if (sql[from] === '$') {
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

function createQuoted(sql: string, from: number, to: number): Token {
  const text = sql.slice(from + 1, to - 1).replaceAll('""', '"');
  return { kind: 'quoted', value: text, text, from, to };
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
  throw new UnterminatedError(quote === '"' ? 'quoted' : 'text', from);
}

/** A tag has dollars only at its ends, so that no part of the text is compared twice. */
function findDollarEnd(sql: string, from: number, open: number): number {
  const tag = sql.slice(from, open);
  for (let close = sql.indexOf('$', open); close >= 0; close = sql.indexOf('$', close + 1))
    if (sql.startsWith(tag, close)) return close + tag.length;
  throw new UnterminatedError('dollars', from);
}

function findCommentEnd(sql: string, from: number, nests: boolean): number {
  const mark = nests ? /\/\*|\*\//g : /\*\//g;
  mark.lastIndex = from + 2;
  let depth = 1;
  while (depth > 0) {
    const found = mark.exec(sql);
    if (found === null) throw new UnterminatedError('comment', from);
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
  return text.replaceAll(/\\(?:u([\da-f]{4})|x([\da-f]{2})|([\s\S]))/gi, (whole, ...found: string[]) => {
    const [code = found[1], , character = ''] = found;
    const value =
      code === undefined ? escapedCharacters[character] : String.fromCharCode(Number.parseInt(code, 16));
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
