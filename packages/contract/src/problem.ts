/**
 * Every problem that the service answers, as one table: those of all
 * resources. `type` and `title` follow from the status; `code` is the exact reason; `detail` explains it to
 * the caller and names the input.
 */

import { outcomes } from './outcomes/outcomes.ts';
import { type ProblemKind, type ProblemStatus, statusTitles } from './outcomes/problem-kind.ts';

export { type ProblemStatus, statusTitles } from './outcomes/problem-kind.ts';

type Table = (typeof outcomes)[number]['problems'];
type KeyOf<OneTable> = OneTable extends unknown ? keyof OneTable : never;
type RowOf<OneTable, Code extends PropertyKey> =
  OneTable extends Record<Code, infer Row extends ProblemKind> ? Row : never;

export type ProblemCode = KeyOf<Table>;

export const problems = Object.assign({}, ...outcomes.map((each) => each.problems)) as {
  readonly [Code in ProblemCode]: RowOf<Table, Code>;
};

/** What the detail of a problem is about. */
export type ProblemAbout<Code extends ProblemCode> = Parameters<RowOf<Table, Code>['detail']>[0];

/** When each problem is answered. */
export const problemMeanings = Object.fromEntries(
  Object.entries(problems).map(([code, { when }]) => [code, when]),
) as Readonly<Record<ProblemCode, string>>;

/** `Bad Request` → `bad-request`: the last part of a problem's `type`. */
export function problemTypeName(status: ProblemStatus): string {
  return statusTitles[status].toLowerCase().replaceAll(' ', '-');
}
