/**
 * SQL as the parser reads it. What the parser does not know and lineage does not need is left out, such as
 * IGNORE NULLS. A statement that would be too much for the parser is refused before.
 */
import { type LexicalRules, type Token, tokenize, UnterminatedError } from '../sql/tokens/tokens.ts';
import type { LineageDialect } from './naming/dialect.ts';
import { renameFunction } from './query/projection.ts';

export interface AdaptedSql {
  readonly sql: string;
  /** INSERT … BY NAME */
  readonly isByName: boolean;
}

/** Why a statement is not parsed. */
export class UnreadableSql extends Error {}

/** Characters of a statement. */
export const lineageSqlLimit = 262_144;
/** The parser's stack is short, and a long list of OR or UNION is a deep tree for it. */
const depthLimit = 100;
const operatorLimit = 400;

/** @throws UnreadableSql */
export function adaptSql(sql: string, { name, rules, foldName }: LineageDialect): AdaptedSql {
  if (sql.length > lineageSqlLimit)
    throw new UnreadableSql(`the statement is longer than ${lineageSqlLimit} characters`);
  const tokens = readAll(sql, rules);
  requireBounds(tokens);
  return name === 'duckdb' ? adaptDuckdb(sql, tokens) : adaptPostgres(sql, tokens, foldName);
}

interface Cut {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** Names without quotes get the case that they have in the warehouse. The parser ignores the case of other words. */
function adaptPostgres(
  sql: string,
  tokens: readonly Token[],
  foldName: LineageDialect['foldName'],
): AdaptedSql {
  const cuts: Cut[] = [];
  for (const [index, { kind, value, text, from, to }] of tokens.entries()) {
    if (kind !== 'word') continue;
    const folded = foldName(text);
    const [before, next] = [tokens[index - 1], tokens[index + 1]];
    if (value === 'UNLOGGED' && isWord(before, 'CREATE')) cuts.push({ from, to, by: ' ' });
    else if (value === 'ONLY' && isWord(before, 'FROM', 'JOIN', 'UPDATE', 'TABLE', 'TRUNCATE'))
      cuts.push({ from, to, by: ' ' });
    else if (value === 'SYMMETRIC' && isWord(before, 'BETWEEN')) cuts.push({ from, to, by: ' ' });
    else if (value === 'WITH' && isDataClause(tokens, index)) cuts.push({ from, to: sql.length, by: ' ' });
    else if (value === 'VALUES' && isSymbol(next, '(')) {
      const rows = findPlainRows(tokens, index + 1);
      const [first, last] = [tokens[rows?.first ?? -1], tokens[rows?.last ?? -1]];
      if (first !== undefined && last !== undefined) cuts.push({ from: first.from, to: last.to, by: ' ' });
    } else if (folded !== text) cuts.push({ from, to, by: folded });
  }
  return { sql: replace(sql, cuts), isByName: false };
}

/** `WITH DATA` or `WITH NO DATA` at the end of a statement. */
function isDataClause(tokens: readonly Token[], index: number): boolean {
  const data = isWord(tokens[index + 1], 'NO') ? index + 2 : index + 1;
  return isWord(tokens[data], 'DATA') && data === tokens.length - 1;
}

function adaptDuckdb(sql: string, tokens: readonly Token[]): AdaptedSql {
  const cuts: Cut[] = [];
  const cut = (first: Token | undefined, last = first, by = ' ') => {
    if (first !== undefined && last !== undefined) cuts.push({ from: first.from, to: last.to, by });
  };
  let isByName = false;
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    const [next, third] = [tokens[index + 1], tokens[index + 2]];
    if (token.kind === 'symbol') {
      if (token.value === '//') cut(token, token, '/');
      if (token.value === '**') cut(token, token, '*');
      continue;
    }
    if (token.kind !== 'word') continue;
    if (token.value === 'BY' && isWord(next, 'NAME') && isWord(tokens[0], 'INSERT') && !isByName) {
      isByName = !isWord(before, 'ALL') && !isWord(before, 'UNION');
      if (isByName) cut(token, next);
    } else if ((token.value === 'IGNORE' || token.value === 'RESPECT') && isWord(next, 'NULLS'))
      cut(token, next);
    else if (token.value === 'MATERIALIZED' && isWord(before, 'AS', 'NOT'))
      cut(isWord(before, 'NOT') ? before : token, token);
    else if (token.value === 'GLOB') cut(token, token, 'LIKE');
    else if (token.value === 'ASOF' && isWord(next, 'JOIN', 'LEFT', 'INNER', 'RIGHT')) cut(token);
    else if (token.value === 'RENAME' && isSymbol(next, '(') && isStarBefore(tokens, index)) {
      cut(token, token, 'REPLACE');
      for (const item of listRenamed(tokens, index + 2))
        cut(item, item, `${renameFunction}(${sql.slice(item.from, item.to)})`);
    } else if (token.value === 'VALUES' && isSymbol(next, '(') && third !== undefined) {
      const last = findPlainRows(tokens, index + 1);
      if (last !== undefined) cut(tokens[last.first], tokens[last.last]);
    }
  }
  return { sql: replace(sql, cuts), isByName };
}

function readAll(sql: string, rules: LexicalRules): readonly Token[] {
  try {
    return tokenize(sql, rules).tokens;
  } catch (error) {
    if (error instanceof UnterminatedError) throw new UnreadableSql(error.message);
    throw error;
  }
}

function requireBounds(tokens: readonly Token[]): void {
  let depth = 0;
  let operators = 0;
  for (const { kind, value } of tokens) {
    if (kind === 'symbol') {
      if (value === '(' || value === '[' || value === '{') depth += 1;
      else if (value === ')' || value === ']' || value === '}') depth -= 1;
      if (depth > depthLimit)
        throw new UnreadableSql(`the statement is nested more than ${depthLimit} levels deep`);
    } else if (kind === 'word' && chains.has(value)) operators += 1;
  }
  if (operators > operatorLimit)
    throw new UnreadableSql(
      `the statement has more than ${operatorLimit} of AND, OR, UNION, EXCEPT and INTERSECT`,
    );
}

const chains = new Set(['OR', 'AND', 'UNION', 'EXCEPT', 'INTERSECT']);

const isWord = (token: Token | undefined, ...words: readonly string[]) =>
  token?.kind === 'word' && words.includes(token.value);
const isSymbol = (token: Token | undefined, ...symbols: readonly string[]) =>
  token?.kind === 'symbol' && symbols.includes(token.value);

/** `* RENAME (`, perhaps after `EXCLUDE (…)`. */
function isStarBefore(tokens: readonly Token[], index: number): boolean {
  if (isSymbol(tokens[index - 1], '*')) return true;
  if (!isSymbol(tokens[index - 1], ')')) return false;
  for (let at = index - 2; at > 0; at -= 1)
    if (isSymbol(tokens[at], '(')) return isWord(tokens[at - 1], 'EXCLUDE') && isSymbol(tokens[at - 2], '*');
  return false;
}

/** The names before AS in `(a AS b, c AS d)`. */
function listRenamed(tokens: readonly Token[], from: number): Token[] {
  const found: Token[] = [];
  for (let at = from; at < tokens.length && !isSymbol(tokens[at], ')'); at += 1) {
    const token = tokens[at];
    if (token !== undefined && isWord(tokens[at + 1], 'AS')) found.push(token);
  }
  return found;
}

/** The rows after the first one, if rows have no names: only how many columns they have counts. */
function findPlainRows(tokens: readonly Token[], from: number): { first: number; last: number } | undefined {
  let depth = 0;
  let first: number | undefined;
  for (let at = from; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token?.kind === 'word' && !literals.has(token.value)) return undefined;
    if (token?.kind === 'quoted') return undefined;
    if (token?.kind !== 'symbol') continue;
    if (token.value === '(') depth += 1;
    else if (token.value === ')') {
      depth -= 1;
      if (depth > 0) continue;
      const isLast = !isSymbol(tokens[at + 1], ',');
      if (isLast) return first === undefined ? undefined : { first, last: at };
      first ??= at + 1;
    }
  }
  return undefined;
}

const literals = new Set(['NULL', 'TRUE', 'FALSE', 'DEFAULT', 'DATE', 'TIMESTAMP']);

function replace(sql: string, cuts: readonly Cut[]): string {
  let text = '';
  let end = 0;
  for (const { from, to, by } of cuts) {
    if (from < end) continue;
    text += `${sql.slice(end, from)}${by}`;
    end = to;
  }
  return text + sql.slice(end);
}
