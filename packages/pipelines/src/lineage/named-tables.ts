/** The tables that a statement names, read from its tokens: for a statement that the parser does not read. */
import { type LexicalRules, type Token, TokenReader, UnterminatedError } from '../sql/tokens/tokens.ts';
import type { LineageDialect } from './naming/dialect.ts';

export interface NamedTables {
  readonly reads: readonly (readonly string[])[];
  readonly writes: readonly (readonly string[])[];
}

/** Tokens that are read of a statement: a longer one names its tables before its values. */
const tokenLimit = 200_000;

const readsNext = new Set(['FROM', 'JOIN', 'USING']);
const writesNext = new Set(['INTO', 'UPDATE', 'TABLE', 'VIEW', 'TRUNCATE']);
const between = new Set(['IF', 'NOT', 'EXISTS', 'TABLE', 'LATERAL', 'ONLY']);

export function findNamedTables(sql: string, { rules, foldName }: LineageDialect): NamedTables {
  const tokens = readTokens(sql, rules);
  const reads: string[][] = [];
  const writes: string[][] = [];
  const common = findCommonTables(tokens);
  let isList = false;
  for (const [index, token] of tokens.entries()) {
    const isNext = token.kind === 'word' && (readsNext.has(token.value) || writesNext.has(token.value));
    if (isNext) isList = readsNext.has(token.value);
    else if (!(isList && token.kind === 'symbol' && token.value === ',')) continue;
    const path = readPathAt(tokens, index + 1, foldName);
    if (path === undefined || (path.length === 1 && common.has(path[0]?.toLowerCase() ?? ''))) continue;
    const isWrite =
      writesNext.has(token.value) || (token.value === 'FROM' && tokens[index - 1]?.value === 'DELETE');
    (isWrite ? writes : reads).push(path);
  }
  return { reads, writes };
}

function readTokens(sql: string, rules: LexicalRules): Token[] {
  const reader = new TokenReader(sql, rules);
  const tokens: Token[] = [];
  try {
    for (let token = reader.next(); token !== undefined && tokens.length < tokenLimit; token = reader.next())
      tokens.push(token);
  } catch (error) {
    if (!(error instanceof UnterminatedError)) throw error;
  }
  return tokens;
}

/** `name AS (` */
function findCommonTables(tokens: readonly Token[]): Set<string> {
  const names = new Set<string>();
  for (const [index, token] of tokens.entries()) {
    const isCommon = token.value === 'AS' && token.kind === 'word' && tokens[index + 1]?.value === '(';
    const name = tokens[index - 1];
    if (isCommon && name !== undefined && isName(name)) names.add(name.text.toLowerCase());
  }
  return names;
}

const isName = ({ kind }: Token) => kind === 'word' || kind === 'quoted';

function readPathAt(
  tokens: readonly Token[],
  from: number,
  foldName: LineageDialect['foldName'],
): string[] | undefined {
  let at = from;
  while (tokens[at]?.kind === 'word' && between.has(tokens[at]?.value ?? '')) at += 1;
  const path: string[] = [];
  for (let token = tokens[at]; token !== undefined && isName(token); token = tokens[at]) {
    path.push(token.kind === 'word' ? foldName(token.text) : token.text);
    at += 1;
    if (tokens[at]?.value !== '.') break;
    at += 1;
  }
  const isCall = tokens[at]?.value === '(' && path.length > 0 && tokens[from]?.kind === 'word';
  const isKeyword =
    tokens[from]?.kind === 'word' && ['SELECT', 'SET', 'VALUES'].includes(path[0]?.toUpperCase() ?? '');
  return path.length === 0 || path.length > 3 || (isCall && !isInsertColumns(tokens, from)) || isKeyword
    ? undefined
    : path;
}

/** `INTO t (a, b)`, `TABLE t (a INTEGER)` */
const isInsertColumns = (tokens: readonly Token[], from: number) =>
  ['INTO', 'TABLE', 'EXISTS'].includes(tokens[from - 1]?.value ?? '');
