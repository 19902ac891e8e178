/** Where COPY and EXPORT DATABASE write to. */
import { resolve, sep } from 'node:path';
import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import type { BuiltInFunctions } from './duckdb-functions.ts';
import { checkPlan } from './duckdb-plan.ts';
import { readStatements, type Word } from './sql-words.ts';
import { fileRefusal } from './test-refusals.ts';

/** The SQL of the targets that are written, in order. */
export interface Targets {
  /** For each COPY; undefined for one that reads. */
  copies: (string | undefined)[];
  exports: string[];
}

export function writtenTargets(sql: string): Targets {
  const targets: Targets = { copies: [], exports: [] };
  if (!/copy|export/i.test(sql)) return targets;
  for (const words of readStatements(sql)) {
    const first = words[0]?.value;
    if (first === 'copy') targets.copies.push(targetOf(words, sql));
    if (first === 'export') targets.exports.push(targetOf(words, sql) ?? "''");
  }
  return targets;
}

function targetOf(words: readonly Word[], sql: string): string | undefined {
  const depths = depthsOf(words);
  // A name may be "to" in quotes; the keyword has none.
  const to = words.findIndex(
    ({ kind, value }, index) => kind === 'name' && value === 'to' && depths[index] === 0,
  );
  if (to < 0 && words[0]?.value !== 'export') return undefined;
  const start = to < 0 ? 2 : to + 1;
  const first = words[start];
  if (first === undefined) return undefined;
  const written = sql.slice(first.from, first.to);
  if (first.kind === 'name') return literal(written);
  if (first.kind === 'quoted') return literal(written.slice(1, -1).replaceAll('""', '"'));
  const after = words.findIndex((word, index) => index > start && endsTarget(first, word, depths[index]));
  // The parenthesis that closes an expression belongs to it.
  const last = words[first.kind === 'text' ? after - 1 : after] ?? words.at(-1);
  return sql.slice(first.from, last?.to);
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

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * DuckDB lets SQL write where it spills to; a file there is lost. DuckDB itself says what the target is.
 *
 * @param target SQL of one value
 * @throws Error that names the remedy
 */
export async function checkTarget(
  connection: DuckDBConnection,
  target: string,
  rules: { temporaryFolder: string; functions: BuiltInFunctions; scratch?: { filesFolder: string } },
): Promise<void> {
  const { temporaryFolder, functions, scratch } = rules;
  const sql = `select ${target}\n`;
  await checkPlan(connection, sql, StatementType.SELECT, functions);
  const reader = await connection.runAndReadAll(sql);
  // The process works in the files folder, where relative paths begin.
  const path = resolve(String(reader.getRows()[0]?.[0]));
  if (scratch !== undefined && !path.startsWith(`${scratch.filesFolder}${sep}`)) throw new Error(fileRefusal);
  if (path !== temporaryFolder && !path.startsWith(`${temporaryFolder}${sep}`)) return;
  throw new Error(
    'files cannot be written to the temporary folder of the warehouse: use a relative path, which is in the files folder',
  );
}
