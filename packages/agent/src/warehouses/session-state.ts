/** What a session has that is lost with it. */
import { hasName, readFirstWord, readWords, type Word } from './statements/sql-words.ts';

const settings = ['set', 'reset', 'use', 'pragma', 'prepare'];

/** Whether a later statement may give another result in another session. */
export const leavesState = (sql: string) =>
  settings.includes(readFirstWord(sql)) || (hasName(sql, stateNames) && makesTemporary(sql));

const stateNames = new Set(['temp', 'temporary', 'setseed']);

/** `CREATE TEMP …`, `CREATE TABLE temp.…` and `setseed`. */
function makesTemporary(sql: string): boolean {
  let [before, last]: (Word | undefined)[] = [undefined, undefined];
  for (const word of readWords(sql)) {
    if (
      isOneOf(word, 'setseed') ||
      (isOneOf(word, 'temp', 'temporary') && isOneOf(last, 'create', 'replace'))
    )
      return true;
    if (word.value === '.' && isOneOf(last, 'temp') && isOneOf(before, 'table', 'view', 'exists'))
      return true;
    [before, last] = [last, word];
  }
  return false;
}

const isOneOf = (word: Word | undefined, ...names: readonly string[]) =>
  word !== undefined && (word.kind === 'name' || word.kind === 'quoted') && names.includes(word.value);
