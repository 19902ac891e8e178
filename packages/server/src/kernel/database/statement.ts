/** SQL as the server writes it: numbered parameters, named by a digest of its text (docs/adr/0002). */
import { createHash } from 'node:crypto';

export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Types of the first parameters, by OID, where the text does not tell them. */
  readonly types: readonly number[];
  /** How many parameters it takes. */
  readonly parameterCount: number;
  /** May take long: no other read waits for it in the same trip (shared-trips.ts). */
  readonly alone: boolean;
  /** Never set: carries the type of a row. */
  readonly row?: Row;
}

export type Parameter = string | number | boolean | null | Date | Buffer | readonly Element[];

type Element = string | number | boolean | null | Date | Buffer;

const everyStatement = new Map<string, Statement<unknown>>();

/** Declares a statement. Columns are named, never `*`; lists are passed as `= any($1)`. */
export function statement<Row = never>(
  text: string,
  { types = [], alone = false }: Partial<Pick<Statement<Row>, 'types' | 'alone'>> = {},
): Statement<Row> {
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  const named = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
  const parameterCount = Math.max(types.length, ...named, 0);
  const declared: Statement<Row> = { name, text, types, parameterCount, alone };
  everyStatement.set(name, declared);
  return declared;
}

interface MoreOfInsert {
  /** Columns that are computed, each from the row `given`. */
  derived?: Readonly<Record<string, string>>;
  /** Changes of other tables in the same statement, computed from `given`. */
  with?: readonly string[];
}

/** An insert of one row. `columns` are its parameters, in their order, with their types. */
export function insertStatement(
  table: string,
  columns: Readonly<Record<string, string>>,
  { derived = {}, with: changes = [] }: MoreOfInsert = {},
): Statement<never> {
  const names = Object.keys(columns);
  const parameters = Object.values(columns).map((type, index) => `$${index + 1}::${type}`);
  const values = [...names.map((name) => `given.${name}`), ...Object.values(derived)];
  return statement(`
    with given (${names.join(', ')}) as (values (${parameters.join(', ')}))${changes.map((change, index) => `, change_${index} as (${change})`).join('')}
    insert into ${table} (${[...names, ...Object.keys(derived)].join(', ')})
    select ${values.join(', ')} from given`);
}

/** For the test that prepares each of them on the migrated database. */
export function allStatements(): Iterable<Statement<unknown>> {
  return everyStatement.values();
}
