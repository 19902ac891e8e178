/** SQL as the server writes it: numbered parameters, named by a digest of its text (docs/adr/0002). */
import { createHash } from 'node:crypto';

export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Never set: carries the type of a row. */
  readonly row?: Row;
}

export type Parameter =
  | string
  | number
  | boolean
  | null
  | Date
  | Buffer
  | readonly (string | number | null)[];

const everyStatement = new Map<string, Statement<unknown>>();

/** Declares a statement. Columns are named, never `*`; lists are passed as `= any($1)`. */
export function statement<Row = never>(text: string): Statement<Row> {
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  const declared: Statement<Row> = { name, text };
  everyStatement.set(name, declared);
  return declared;
}

/** For the test that prepares each of them on the migrated database. */
export function allStatements(): Iterable<Statement<unknown>> {
  return everyStatement.values();
}
