/** Reads SQL as DuckDB's scanner does: words, texts and symbols, without blanks and comments. */

export interface Word {
  /** quoted: a name in double quotes. text: a string literal of any spelling. */
  readonly kind: 'name' | 'quoted' | 'text' | 'symbol';
  /** A name in lower case, as DuckDB compares names; a symbol is one character; a text is as written. */
  readonly value: string;
  readonly from: number;
  readonly to: number;
}

/** DuckDB takes the characters beyond ASCII for blanks, too. */
const blank = /[\s\u00a0\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]+/y;
/** Letters and digits are ASCII or anything beyond it that is not a blank. */
const plainName =
  /[A-Za-z_\u0080-\u009f\u00a1-\u1fff\u200e-\u202e\u2030-\u205e\u2061-\u2fff\u3001-\ufefe\uff00-\uffff][\w$\u0080-\u009f\u00a1-\u1fff\u200e-\u202e\u2030-\u205e\u2061-\u2fff\u3001-\ufefe\uff00-\uffff]*/y;
const lineComment = /--[^\n\r]*/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;

/**
 * The text of each statement, to be executed by itself. Blanks beyond ASCII become spaces: DuckDB reads some
 * of them as blanks and others as letters, and this module must read the statement as DuckDB does.
 */
export function splitStatements(sql: string): string[] {
  const parts: string[] = [];
  let part = '';
  let end = 0;
  let isEmpty = true;
  for (const word of readWords(sql)) {
    part += sql.slice(end, word.from).replaceAll(beyondAscii, ' ');
    end = word.to;
    if (word.kind === 'symbol' && word.value === ';') {
      if (!isEmpty) parts.push(part);
      part = '';
      isEmpty = true;
    } else {
      part += sql.slice(word.from, word.to);
      isEmpty = false;
    }
  }
  if (!isEmpty) parts.push(part);
  return parts;
}

const beyondAscii = /[\u0080-\uffff]/g;

/** The words of each statement; `;` separates statements. */
export function readStatements(sql: string): Word[][] {
  const statements: Word[][] = [[]];
  for (const word of readWords(sql)) {
    if (word.kind === 'symbol' && word.value === ';') statements.push([]);
    else statements.at(-1)?.push(word);
  }
  return statements.filter((words) => words.length > 0);
}

/** The first word in lower case, past blanks, comments and open parentheses. '' if something else comes first. */
export function readFirstWord(sql: string): string {
  for (const { kind, value } of readWords(sql))
    if (kind !== 'symbol' || value !== '(') return kind === 'name' ? value : '';
  return '';
}

/** One word after the other: a long text is read only as far as they are taken. */
export function* readWords(sql: string): Generator<Word> {
  let from = 0;
  while (from < sql.length) {
    const skipped =
      matchEnd(blank, sql, from) ?? matchEnd(lineComment, sql, from) ?? blockCommentEnd(sql, from);
    if (skipped === undefined) {
      const word = readWord(sql, from);
      yield word;
      from = word.to;
    } else from = skipped;
  }
}

function readWord(sql: string, from: number): Word {
  const text = textEnd(sql, from);
  if (text !== undefined) return { kind: 'text', value: sql.slice(from, text), from, to: text };
  if (sql[from] === '"') {
    const to = quoteEnd(sql, from, false);
    const value = sql
      .slice(from + 1, to - 1)
      .replaceAll('""', '"')
      .toLowerCase();
    return { kind: 'quoted', value, from, to };
  }
  const name = matchEnd(plainName, sql, from);
  const to = name ?? from + 1;
  const written = sql.slice(from, to);
  return { kind: name === undefined ? 'symbol' : 'name', value: written.toLowerCase(), from, to };
}

function textEnd(sql: string, from: number): number | undefined {
  if (sql[from] === "'") return quoteEnd(sql, from, false);
  if (sql[from + 1] === "'" && /[eE]/.test(sql[from] as string)) return quoteEnd(sql, from + 1, true);
  const open = matchEnd(dollarTag, sql, from);
  if (open === undefined) return undefined;
  const close = sql.indexOf(sql.slice(from, open), open);
  return close < 0 ? sql.length : close + open - from;
}

/** A doubled quote stands for one inside of the text. */
function quoteEnd(sql: string, from: number, escapes: boolean): number {
  const quote = sql[from];
  for (let index = from + 1; index < sql.length; index += 1) {
    if (escapes && sql[index] === '\\') index += 1;
    else if (sql[index] !== quote) continue;
    else if (sql[index + 1] === quote) index += 1;
    else return index + 1;
  }
  return sql.length;
}

/** Block comments nest. */
function blockCommentEnd(sql: string, from: number): number | undefined {
  if (!sql.startsWith('/*', from)) return undefined;
  let depth = 1;
  let index = from + 2;
  while (depth > 0 && index < sql.length) {
    const step = sql.startsWith('/*', index) ? 1 : sql.startsWith('*/', index) ? -1 : 0;
    depth += step;
    index += step === 0 ? 1 : 2;
  }
  return index;
}

function matchEnd(pattern: RegExp, sql: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}
