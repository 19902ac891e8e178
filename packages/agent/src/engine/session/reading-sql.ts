/** Tells statements that only read from those that may write. */
import { hasName, readFirstWord } from '../../warehouses/statements/sql-words.ts';

const session = new Set('begin start commit end rollback abort set use'.split(' '));
const queryWords = new Set(
  'select with values table from show describe desc explain pivot unpivot'.split(' '),
);
/** A WITH or EXPLAIN may stand before a statement that writes, and a query may advance a sequence. */
const writeWords = new Set('insert update delete merge create copy nextval drop alter truncate'.split(' '));

/** Whether it begins as a query does. A WITH or EXPLAIN may still write. */
export const isQuery = (sql: string): boolean => queryWords.has(readFirstWord(sql));

/** False if it may write. */
export function onlyReads(sql: string): boolean {
  const word = readFirstWord(sql);
  return (session.has(word) || queryWords.has(word)) && !hasName(sql, writeWords);
}
