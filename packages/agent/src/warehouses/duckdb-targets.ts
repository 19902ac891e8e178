/** Where COPY and EXPORT DATABASE write to. */
import { resolve, sep } from 'node:path';
import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import type { BuiltInFunctions } from './statements/duckdb-functions.ts';
import { quoteText } from './statements/duckdb-names.ts';
import { checkPlan } from './statements/duckdb-plan.ts';
import { readFirstWord, readStatements, type Word } from './statements/sql-words.ts';
import { fileRefusal } from './statements/test-refusals.ts';

/** Where the target is in the SQL, and SQL of its value. */
interface Target {
  from: number;
  to: number;
  value: string;
}

/**
 * The statement with its target replaced by the path that was checked, so that DuckDB writes nowhere else: an
 * expression may have another value the next time.
 *
 * @param sql a single statement
 * @throws Error that names the remedy
 */
export async function bindTarget(
  connection: DuckDBConnection,
  sql: string,
  rules: TargetRules,
): Promise<string> {
  if (!['copy', 'export'].includes(readFirstWord(sql))) return sql;
  const words = readStatements(sql)[0] ?? [];
  const target = targetOf(words, sql);
  if (target === undefined) return sql;
  checkNames(
    words.filter(({ from }) => from >= target.to),
    sql,
  );
  const path = await checkTarget(connection, target.value, rules);
  return `${sql.slice(0, target.from)}${quoteText(path)}${sql.slice(target.to)}`;
}

/** Undefined for a COPY that reads. */
function targetOf(words: readonly Word[], sql: string): Target | undefined {
  const depths = depthsOf(words);
  // A table may be "to" in quotes, or `main.to`; the keyword is neither.
  const to = words.findIndex(
    ({ kind, value }, index) =>
      kind === 'name' && value === 'to' && depths[index] === 0 && words[index - 1]?.value !== '.',
  );
  if (to < 0 && words[0]?.value !== 'export') return undefined;
  const start = to < 0 ? 2 : to + 1;
  const first = words[start];
  // DuckDB refuses the standard streams.
  if (first === undefined || (first.kind === 'name' && ['stdin', 'stdout'].includes(first.value)))
    return undefined;
  if (first.kind === 'name' || first.kind === 'quoted') {
    // A path without quotes, such as orders.csv.
    const extension = words[start + 1]?.value === '.' ? words[start + 2] : undefined;
    const names = [first, ...(extension === undefined ? [] : [extension])];
    return {
      from: first.from,
      to: (extension ?? first).to,
      value: quoteText(names.map((name) => readName(name, sql)).join('.')),
    };
  }
  const after = words.findIndex((word, index) => index > start && endsTarget(first, word, depths[index]));
  // The parenthesis that closes an expression belongs to it.
  const last = words[first.kind === 'text' ? after - 1 : after] ?? words.at(-1) ?? first;
  return { from: first.from, to: last.to, value: sql.slice(first.from, last.to) };
}

/** DuckDB appends these to the target. @throws Error if one may lead out of its folder */
function checkNames(options: readonly Word[], sql: string): void {
  for (const [index, { kind, value }] of options.entries()) {
    if (kind === 'text' || (value !== 'filename_pattern' && value !== 'file_extension')) continue;
    const [text, after] = [options[index + 1], options[index + 2]];
    const written = text === undefined ? '' : sql.slice(text.from, text.to);
    const isWhole = after?.value === ',' || after?.value === ')';
    if (isWhole && /^'[^/\\]*'$/.test(written)) continue;
    throw new Error(
      `${value.toUpperCase()} must be a text without a folder, and not ${written}: name the folder after TO`,
    );
  }
}

function readName({ kind, from, to }: Word, sql: string): string {
  const written = sql.slice(from, to);
  return kind === 'quoted' ? written.slice(1, -1).replaceAll('""', '"') : written;
}

/** Texts in adjacent lines are one text; an expression is in parentheses. */
function endsTarget(first: Word, word: Word, depth: number | undefined): boolean {
  return first.kind === 'text' ? word.kind !== 'text' : depth === 0;
}

/** How many parentheses each word is in. One that opens or closes is outside of its own. */
function depthsOf(words: readonly Word[]): number[] {
  let depth = 0;
  return words.map(({ kind, value }) => {
    if (kind === 'symbol' && value === ')') depth -= 1;
    const own = depth;
    if (kind === 'symbol' && value === '(') depth += 1;
    return own;
  });
}

export interface TargetRules {
  functions: BuiltInFunctions;
  /** The base of relative paths, and the only folder to which SQL may write. */
  filesFolder: string;
  /** Of a test: the only folder. */
  scratch?: { filesFolder: string };
}

/**
 * DuckDB would let SQL overwrite its own database and its log, the files that it spills to, and artifacts if
 * their modes allow it.
 *
 * @param value SQL of one value
 * @returns an absolute path
 */
async function checkTarget(
  connection: DuckDBConnection,
  value: string,
  { functions, filesFolder, scratch }: TargetRules,
): Promise<string> {
  const sql = `select ${value}\n`;
  // Each statement would be executed, if DuckDB read more than one here.
  const { count } = await connection.extractStatements(sql);
  if (count !== 1) throw new Error('the target of COPY and EXPORT must be one value: write a text');
  await checkPlan(connection, sql, StatementType.SELECT, functions);
  const reader = await connection.runAndReadAll(sql);
  const written = reader.getRows()[0]?.[0];
  if (typeof written !== 'string' || written === '')
    throw new Error('the target of COPY and EXPORT must be a path: write a text that is not empty');
  const path = resolve(filesFolder, written);
  const allowed = scratch?.filesFolder ?? filesFolder;
  const isUrl = /^[a-z][\w+.-]*:\//i.test(written);
  if (!isUrl && (path === allowed || path.startsWith(`${allowed}${sep}`))) return path;
  if (scratch !== undefined) throw new Error(fileRefusal);
  throw new Error(
    `files are written only in the files folder, and not to ${JSON.stringify(written)}: use a relative path, which is in the files folder`,
  );
}
