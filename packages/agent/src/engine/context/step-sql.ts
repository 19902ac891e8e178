/** The SQL that a step shows: its statements as they are sent to the warehouse, masked and bounded. */
import { stepSqlLimit } from '@headgate/contract/without-schemas';

/** Bytes of SQL that the steps of one run show together. */
export const runSqlBytes = 64 * 1_048_576;

export interface SqlRoom {
  left: number;
}

/** Returns the SQL of the step after each statement; undefined if there is no more room for it. */
export function createStepSql(
  show: (statement: string) => string,
  room: SqlRoom,
): (statement: string) => string | undefined {
  let shown = '';
  let isFull = false;
  return (statement) => {
    if (isFull) return undefined;
    const before = shown;
    const added = `${show(statement).trim().replace(/;$/, '')};`;
    shown = before === '' ? added : `${before}\n${added}`;
    if (shown.length > stepSqlLimit) shown = `${shown.slice(0, stepSqlLimit - 1)}…`;
    room.left -= Buffer.byteLength(shown) - Buffer.byteLength(before);
    if (room.left < 0) {
      shown = '-- not shown: the steps of this run have more than 64 MB of SQL';
      isFull = true;
    }
    isFull ||= shown.length >= stepSqlLimit;
    return shown;
  };
}
