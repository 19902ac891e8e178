/** Tells statements that only read from those that may write. */
import { readFirstWord } from '../warehouses/sql-words.ts';

const session = /^(?:begin|start|commit|end|rollback|abort|set|use)$/;
const query = /^(?:select|with|values|table|from|show|describe|desc|explain|pivot|unpivot)$/;
/** A WITH or EXPLAIN may stand before a statement that writes, and a query may advance a sequence. */
const writing = /\b(?:insert|update|delete|merge|create|copy|nextval|drop|alter|truncate)\b/i;

/** Whether it begins as a query does. A WITH or EXPLAIN may still write. */
export const isQuery = (sql: string): boolean => query.test(readFirstWord(sql));

/** False if it may write. */
export function onlyReads(sql: string): boolean {
  const word = readFirstWord(sql);
  return (session.test(word) || query.test(word)) && !writing.test(sql);
}
