/**
 * SQL statements with named parameters, declared with the types of their parameters and columns, and named by
 * a digest of their text (docs/adr/0002, docs/adr/0040).
 */
import { createHash } from 'node:crypto';
import {
  type ColumnTypes,
  nameSqlType,
  type ParametersOf,
  type ParameterTypes,
  type RowOf,
} from './sql-types.ts';

/** A statement in the form that PostgreSQL gets. */
export interface PreparedStatement {
  readonly name: string;
  /** With numbered parameters, in the order of `parameters`. */
  readonly text: string;
  /** The declared text, with named parameters. */
  readonly source: string;
  readonly parameters: readonly string[];
  readonly parameterTypes: ParameterTypes;
  /** Undefined if its rows are not used. */
  readonly columnTypes: ColumnTypes | undefined;
  /** May take long, so it does not share a trip with other reads (shared-trips.ts). */
  readonly alone: boolean;
  /** It may write events: of the account in its parameter `account_id`, or in that column of its rows. */
  readonly writesEvents: boolean;
}

export interface Statement<Row, Parameters> extends PreparedStatement {
  /** Never set; they carry the types of a row and of the parameters. */
  readonly row?: Row;
  readonly takes?: (parameters: Parameters) => void;
}

/** A value of a parameter. */
export type Parameter = string | number | boolean | null | Date | Buffer | readonly Element[];

type Element = string | number | boolean | null | Date | Buffer;

const everyStatement = new Map<string, PreparedStatement>();

export interface Declaration<Parameters, Columns> {
  /** Each `$name` of the text. */
  parameters?: Parameters;
  /** The columns of its rows. Leave out if they are not used. */
  row?: Columns;
  /** May take long, so it does not share a trip with other reads. */
  alone?: boolean;
}

type Nothing = Record<never, never>;

/**
 * Declares a statement. Write parameters as `$name`, name all columns (no `*`), and pass lists as `=
 * any($names)`.
 */
export function statement<
  const Parameters extends ParameterTypes = Nothing,
  const Columns extends ColumnTypes = never,
>(
  { parameters, row, alone = false }: Declaration<Parameters, Columns>,
  source: string,
): Statement<RowOf<Columns>, ParametersOf<Parameters>> {
  const declared = prepare({ parameters, row, alone }, source);
  remember(declared);
  return declared;
}

/**
 * A statement whose text is made for one request, such as one with a filter. PostgreSQL parses it each time,
 * and nothing keeps it. Its values must be parameters, like those of any other.
 */
export function passingStatement<
  const Parameters extends ParameterTypes = Nothing,
  const Columns extends ColumnTypes = never,
>(
  declaration: Declaration<Parameters, Columns>,
  source: string,
): Statement<RowOf<Columns>, ParametersOf<Parameters>> {
  return { ...prepare({ ...declaration, alone: true }, source), name: '' };
}

function prepare(
  {
    parameters,
    row,
    alone = false,
  }: { parameters?: ParameterTypes | undefined; row?: ColumnTypes | undefined; alone?: boolean },
  source: string,
): PreparedStatement {
  const parameterTypes: ParameterTypes = parameters ?? {};
  const names = listParameters(source);
  const unknown = names.find((name) => !Object.hasOwn(parameterTypes, name));
  if (unknown !== undefined) throw new Error(`The parameter $${unknown} is not declared: ${source}`);
  const unused = Object.keys(parameterTypes).find((name) => !names.includes(name));
  if (unused !== undefined) throw new Error(`The declared parameter $${unused} is not used: ${source}`);
  const text = source.replaceAll(placeholder, (_, name: string) => `$${names.indexOf(name) + 1}`);
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  const writesEvents = eventInsert.test(source);
  if (writesEvents && !names.includes('account_id') && !Object.hasOwn(row ?? {}, 'account_id'))
    throw new Error(`The statement writes events, so it needs a parameter or a column account_id: ${source}`);
  return { name, text, source, parameters: names, parameterTypes, columnTypes: row, alone, writesEvents };
}

/**
 * The same text may be declared twice, but only with the same types, because the test of the declarations
 * sees only one of them.
 */
function remember(declared: PreparedStatement): void {
  const describeTypes = ({ parameterTypes, columnTypes }: PreparedStatement) =>
    JSON.stringify([parameterTypes, columnTypes]);
  const earlier = everyStatement.get(declared.name) ?? declared;
  if (describeTypes(earlier) !== describeTypes(declared))
    throw new Error(`This statement is already declared with different types: ${declared.source}`);
  everyStatement.set(declared.name, declared);
}

const eventInsert = /\binsert into event\s*\(/;
const placeholder = /\$(\w+)/g;

/** Lists the names of the parameters in a text, without duplicates, in order. */
export function listParameters(source: string): string[] {
  return [...new Set(Array.from(source.matchAll(placeholder), ([, name]) => name ?? ''))];
}

/** Puts the values of a statement in the order of its text. */
export function orderValues<Parameters>(
  { parameters }: Statement<unknown, Parameters>,
  values: NoInfer<Parameters>,
): Parameter[] {
  const named = values as Readonly<Record<string, Parameter>>;
  return parameters.map((name) => named[name] as Parameter);
}

interface MoreOfInsert {
  /** Computed columns: SQL expressions over the row `given`. */
  derived?: Readonly<Record<string, string>>;
  /** Changes to other tables in the same statement: SQL over the row `given`. */
  with?: readonly string[];
}

/** Declares an insert of one row. `columns` are its parameters and their types. */
export function insertStatement<const Columns extends ParameterTypes>(
  table: string,
  columns: Columns,
  { derived = {}, with: changes = [] }: MoreOfInsert = {},
): Statement<never, ParametersOf<Columns>> {
  const names = Object.keys(columns);
  const parameters = Object.entries(columns).map(([name, type]) => `$${name}::${nameSqlType(type)}`);
  const values = [...names.map((name) => `given.${name}`), ...Object.values(derived)];
  return statement<Columns>(
    { parameters: columns },
    `
    with given (${names.join(', ')}) as (values (${parameters.join(', ')}))${changes.map((change, index) => `, change_${index} as (${change})`).join('')}
    insert into ${table} (${[...names, ...Object.keys(derived)].join(', ')})
    select ${values.join(', ')} from given`,
  );
}

/** For the test that prepares each statement on the migrated database. @internal */
export function listStatements(): Iterable<PreparedStatement> {
  return everyStatement.values();
}
