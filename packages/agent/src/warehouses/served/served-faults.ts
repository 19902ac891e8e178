/** Faults of statements in served warehouses, in words that say what to do. */

/** A statement may have had an effect, so it must not be repeated. */
export class OutcomeUnknown extends Error {
  override name = 'PermanentFault';
}

/** The server has ended the session before it took the statement, which had no effect. */
export class SessionGone extends Error {}

export const lostDuring = (name: string, isQuery: boolean) =>
  isQuery
    ? new Error(`the connection "${name}" was lost during the query: start the run again`)
    : new OutcomeUnknown(
        `the connection "${name}" was lost during the statement, so it is not known whether the statement took effect: look at its table before you start the run again`,
      );

const shownLength = 200;

/** @param position counts characters, from 1 */
export function renderPlace(sql: string, position: number): string {
  const before = [...sql].slice(0, position - 1).join('');
  const line = before.split('\n').length;
  const start = before.lastIndexOf('\n') + 1;
  const text = sql.slice(start).split('\n', 1)[0] ?? '';
  const column = before.length - start;
  const from = Math.max(0, column - shownLength / 2);
  const shown = text.slice(from, from + shownLength);
  const mark = `LINE ${line}: `;
  return `\n\n${mark}${shown}\n${' '.repeat(mark.length + column - from)}^`;
}
