/** Statements that no test may run. The run's process loads this file, so it uses nothing of DuckDB. */
import type { LexicalRules } from '@headgate/pipelines';
import { readStatements, type Word } from './sql-words.ts';

/** Why a test does not write a file by its SQL. */
export const fileRefusal =
  'a test writes files only by components of type file-unload, into a folder of its own: use one instead of COPY … TO';

const stageRefusal = 'a test writes no files to a stage or a store: leave COPY INTO @… out';

const purgeRefusal = 'a test cannot delete objects of a store: leave PURGE out, or set "purgeFiles" to No';

const roleRefusal =
  'a test does not change roles, settings of the server or whom it works as: leave ALTER ROLE, ALTER USER, ALTER SYSTEM, SET ROLE and SET SESSION AUTHORIZATION out';

/** UNLOAD of Redshift writes objects of a store. */
const refusedInTests = ['attach', 'detach', 'checkpoint', 'install', 'load', 'export', 'import', 'unload'];

export const isRefused = (word: string): boolean => refusedInTests.includes(word);

/**
 * Why a test may not run the SQL, as far as its words tell before it is translated for the warehouse;
 * undefined if nothing is wrong.
 */
export function findUnsafeStatement(sql: string, rules: LexicalRules): string | undefined {
  return findUnsafe(sql, rules, blockDepth);
}

/** How deep texts with statements are read. */
const blockDepth = 2;

function findUnsafe(sql: string, rules: LexicalRules, depth: number): string | undefined {
  for (const words of readStatements(sql, rules)) {
    const first = words[0]?.kind === 'name' ? words[0].value : '';
    if (isRefused(first)) return describeRefused(first);
    if (first === 'copy' && writesFile(words)) return fileRefusal;
    if (copiesToStage(words)) return stageRefusal;
    if (purges(words)) return purgeRefusal;
    if (changesRole(words)) return roleRefusal;
    if (depth === 0 || !runsText(words)) continue;
    for (const { kind, value } of words) {
      const unsafe = kind === 'text' ? findUnsafe(readContent(value), rules, depth - 1) : undefined;
      if (unsafe !== undefined) return unsafe;
    }
  }
  return undefined;
}

/** `DO $$ … $$` of PostgreSQL, and EXECUTE in a block, IMMEDIATE in Snowflake. */
const runsText = (words: readonly Word[]) =>
  words.some(
    ({ kind, value }, index) => kind === 'name' && (value === 'execute' || (value === 'do' && index === 0)),
  );

/** What stands in a string literal. */
function readContent(literal: string): string {
  const [tag = ''] = /^\$\w*\$/.exec(literal) ?? [];
  if (tag !== '') return literal.slice(tag.length, -tag.length);
  return literal.slice(literal.indexOf("'") + 1, -1).replaceAll("''", "'");
}

/** What a statement comes after in a block. */
const beforeStatement = ['begin', 'then', 'else', 'loop'];

/** By whose privileges a test works is decided before it starts. `UPDATE … SET role = …` is something else. */
function changesRole(words: readonly Word[]): boolean {
  return words.some(({ kind, value }, index) => {
    if (kind !== 'name' || (index > 0 && !beforeStatement.includes(words[index - 1]?.value ?? '')))
      return false;
    const [next = '', after = ''] = [words[index + 1]?.value, words[index + 2]?.value];
    if (value === 'alter') return ['role', 'user', 'system'].includes(next);
    if (value !== 'set') return false;
    const name = ['session', 'local'].includes(next) ? after : next;
    return ['role', 'authorization', 'session_authorization'].includes(name);
  });
}

export function describeRefused(word: string): string {
  if (word === 'export' || word === 'import')
    return `${word.toUpperCase()} DATABASE is not allowed in a test: use components of type file-unload and file-load`;
  return `${word.toUpperCase()} is not allowed in a test: leave the statement out`;
}

/** `COPY INTO` a stage or an address, in Snowflake, also in a block of statements. */
function copiesToStage(words: readonly Word[]): boolean {
  return words.some(({ kind, value }, index) => {
    if (kind !== 'name' || value !== 'copy' || words[index + 1]?.value !== 'into') return false;
    const target = words[index + 2];
    return target?.kind === 'text' || target?.value.startsWith('@') === true;
  });
}

/** `COPY INTO … PURGE = TRUE` of Snowflake. */
function purges(words: readonly Word[]): boolean {
  const isNamed = ({ kind, value }: Word, name: string) => kind === 'name' && value === name;
  return (
    words.some((word) => isNamed(word, 'copy')) &&
    words.some(
      (word, index) =>
        isNamed(word, 'purge') && words[index + 1]?.value === '=' && words[index + 2]?.value !== 'false',
    )
  );
}

/** `COPY … TO`, outside of parentheses. */
function writesFile(words: readonly Word[]): boolean {
  let depth = 0;
  for (const { kind, value } of words) {
    if (kind === 'symbol' && value === '(') depth += 1;
    if (kind === 'symbol' && value === ')') depth -= 1;
    if (depth === 0 && kind === 'name' && value === 'to') return true;
  }
  return false;
}
