/**
 * The SQL types of parameters and columns, and their TypeScript types (docs/adr/0040).
 *
 * Notation
 *   'text'             never null
 *   'text?'            may be null. PostgreSQL does not describe nullability, so no test can check it
 *   'uuid[]'           an array
 *   typed<T>('jsonb')  a type whose name does not determine T: JSON, an enum, a text with few values. T includes null
 *
 * A test compares the types with PostgreSQL's own description of each statement (statement.test.ts).
 */

interface Scalars {
  uuid: string;
  text: string;
  boolean: boolean;
  smallint: number;
  integer: number;
  bigint: number;
  'double precision': number;
  timestamptz: Date;
  bytea: Buffer;
  /** A parameter is passed as text. A column needs typed<T>('jsonb'). */
  jsonb: string;
}

type Scalar = keyof Scalars & string;
type SqlName = Scalar | `${Scalar}[]`;
/** JSON is parsed to any value, and elements of bigint[] to text: such columns need typed<T>(). */
type ColumnName = Exclude<SqlName, 'jsonb' | 'jsonb[]' | 'bigint[]'>;

export interface Typed<T> {
  readonly name: string;
  /** Never set; carries T. */
  readonly value?: T;
}

export type ParameterType = SqlName | `${SqlName}?` | Typed<unknown>;
export type ColumnType = ColumnName | `${ColumnName}?` | Typed<unknown>;
/** Types of parameters, or of the columns of a row, by name. */
export type ParameterTypes = Readonly<Record<string, ParameterType>>;
export type ColumnTypes = Readonly<Record<string, ColumnType>>;

export function typed<T>(name: string): Typed<T> {
  return { name };
}

/** The type's name in PostgreSQL. */
export function nameSqlType(type: ParameterType): string {
  return typeof type === 'string' ? type.replace('?', '') : type.name;
}

type ScalarOf<Name> = Name extends Scalar ? Scalars[Name] : never;

type ParameterOf<Type> =
  Type extends Typed<infer T>
    ? T
    : Type extends `${infer Name}?`
      ? ParameterOf<Name> | null
      : Type extends `${infer Name}[]`
        ? readonly ScalarOf<Name>[]
        : ScalarOf<Type>;

type ColumnOf<Type> =
  Type extends Typed<infer T>
    ? T
    : Type extends `${infer Name}?`
      ? ColumnOf<Name> | null
      : Type extends `${infer Name}[]`
        ? ScalarOf<Name>[]
        : ScalarOf<Type>;

export type NoParameters = Record<string, never>;

/** The parameter values of a statement, by name. */
export type ParametersOf<Types> = [keyof Types] extends [never]
  ? NoParameters
  : { readonly [Name in keyof Types]: ParameterOf<Types[Name]> };

/** A row, by column name. */
export type RowOf<Types> = { -readonly [Name in keyof Types]: ColumnOf<Types[Name]> };
