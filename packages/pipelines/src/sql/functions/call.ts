/**
 * What a translation gets and returns. The rewriter translates the arguments first, so `args` are SQL of
 * DuckDB; `source` has the same arguments as they were written, where units of time are bare words.
 */
import { SqlError } from '../dialect/dialect.ts';

export type SourceDialect = 'snowflake' | 'redshift';

export interface FunctionCall {
  /** In upper case. */
  readonly name: string;
  /** SQL of DuckDB. */
  readonly args: readonly string[];
  readonly source: readonly string[];
  readonly distinct: boolean;
  /** What follows ORDER BY, in WITHIN GROUP or in the parentheses of the call. */
  readonly orderBy?: string | undefined;
  /** What stands in the parentheses of OVER. */
  readonly over?: string | undefined;
  /** The condition of FILTER (WHERE …). */
  readonly filter?: string | undefined;
  /** IGNORE NULLS was written, in or after the parentheses of the call. */
  readonly ignoreNulls?: boolean | undefined;
  readonly named?: Readonly<Record<string, string>> | undefined;
  readonly dialect: SourceDialect;
}

export interface TranslatedCall {
  readonly sql: string;
  /** The rewriter appends FILTER and OVER as they were written. Otherwise `sql` has them. */
  readonly append: boolean;
  /** The value is semi-structured: a path may follow. */
  readonly isJson: boolean;
}

/** undefined: this form of the call is DuckDB's own, and stays as it is. */
export type Translate = (call: FunctionCall) => string | undefined;

export interface FunctionEntry {
  readonly least: number;
  readonly most: number;
  readonly translate: Translate;
  /** The translation places FILTER and OVER itself. */
  readonly placesClauses: boolean;
}

export type FunctionTable = Readonly<Record<string, FunctionEntry>>;

/** Any number of arguments. */
export const many = Number.POSITIVE_INFINITY;

/** A function of a row. FILTER and OVER are not expected, and would be appended. */
export function define(least: number, most: number, translate: Translate): FunctionEntry {
  return { least, most, translate, placesClauses: false };
}

/** An aggregate or a window function that places FILTER and OVER itself. */
export function defineOverRows(least: number, most: number, translate: Translate): FunctionEntry {
  return { least, most, translate, placesClauses: true };
}

/** A function that DuckDB has under another name. */
export function rename(name: string, least: number, most = least): FunctionEntry {
  return define(
    least,
    most,
    ({ args, distinct }) => `${name}(${distinct ? 'DISTINCT ' : ''}${args.join(', ')})`,
  );
}

/** A function that the warehouse does not have. */
export function refuse(why: string): FunctionEntry {
  return define(0, many, ({ name }) => refuseCall(name, why));
}

/** @param why what is wrong, and the remedy */
export function refuseCall(name: string, why: string): never {
  throw new SqlError(`${name}: ${why}`);
}

/** The argument at `index`, which the number of arguments guarantees. */
export function argumentAt({ name, args }: FunctionCall, index: number): string {
  const found = args[index];
  if (found === undefined) refuseCall(name, `argument ${index + 1} is missing: add it`);
  return found;
}
