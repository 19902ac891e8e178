/** Statements as DuckDB reads them: the tokens of the one reader of SQL, by DuckDB's rules, as words. */
import { lexicalRules, type Token, TokenReader, UnterminatedError } from '@headgate/pipelines/sql-tokens';

export interface Word {
  /** quoted: a name in double quotes. text: a string literal of any spelling. */
  readonly kind: 'name' | 'quoted' | 'text' | 'number' | 'symbol';
  /** A name in lower case, as DuckDB compares names; a symbol, number or text is as written. */
  readonly value: string;
  readonly from: number;
  readonly to: number;
}

function toWord({ kind, text, from, to }: Token): Word {
  if (kind === 'word' || kind === 'quoted')
    return { kind: kind === 'word' ? 'name' : 'quoted', value: text.toLowerCase(), from, to };
  return { kind: kind === 'variable' ? 'symbol' : kind, value: text, from, to };
}

/** The text of each statement, to be executed by itself: blanks beyond ASCII are spaces there. */
export function splitStatements(sql: string): string[] {
  const reader = new TokenReader(sql, lexicalRules.duckdb);
  const parts: { from: number; to: number }[] = [];
  let from = 0;
  let to: number | undefined;
  for (const word of readAll(reader, sql)) {
    if (!isSemicolon(word)) {
      to = word.to;
      continue;
    }
    if (to !== undefined) parts.push({ from, to });
    [from, to] = [word.to, undefined];
  }
  if (to !== undefined) parts.push({ from, to });
  const { source } = reader;
  return parts.map((part) => source.slice(part.from, part.to));
}

/** The words of each statement; `;` separates statements. */
export function readStatements(sql: string, rules = lexicalRules.duckdb): Word[][] {
  const statements: Word[][] = [[]];
  for (const word of readAll(new TokenReader(sql, rules), sql)) {
    if (isSemicolon(word)) statements.push([]);
    else statements.at(-1)?.push(word);
  }
  return statements.filter((words) => words.length > 0);
}

const isSemicolon = ({ kind, value }: Word) => kind === 'symbol' && value === ';';

/** The first word in lower case, past blanks, comments and open parentheses. '' if something else comes first. */
export function readFirstWord(sql: string): string {
  for (const { kind, value } of readWords(sql))
    if (kind !== 'symbol' || value !== '(') return kind === 'name' ? value : '';
  return '';
}

/** One word after the other: a long text is read only as far as they are taken. */
export function readWords(sql: string): Generator<Word> {
  return readAll(new TokenReader(sql, lexicalRules.duckdb), sql);
}

/** What has no end is one text up to the end of the SQL. DuckDB then refuses the statement. */
function* readAll(reader: TokenReader, sql: string): Generator<Word> {
  try {
    for (let token = reader.next(); token !== undefined; token = reader.next()) yield toWord(token);
  } catch (error) {
    if (!(error instanceof UnterminatedError)) throw error;
    yield { kind: 'text', value: sql.slice(error.from), from: error.from, to: sql.length };
  }
}

/** Whether one of the names, in lower case, stands in the SQL, quoted or not. */
export function hasName(sql: string, names: ReadonlySet<string>): boolean {
  // Most large statements, such as inserts of many values, are not read word by word.
  const lower = sql.toLowerCase();
  if (![...names].some((name) => lower.includes(name))) return false;
  for (const { kind, value } of readWords(sql))
    if ((kind === 'name' || kind === 'quoted') && names.has(value)) return true;
  return false;
}
