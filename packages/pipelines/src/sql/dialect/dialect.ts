/**
 * The differences between warehouses. All names and literals go through `name` and `literal`, so that user
 * input cannot become SQL by accident. SQL written by a user runs as SQL, confined by the warehouse.
 */
import type { ExpressionValue } from '../../expressions/expressions.ts';
import type { LexicalRules } from '../tokens/tokens.ts';
import type { CsvFormat, PlainFormat, RejectTables } from './file-reading.ts';

export { type CsvFormat, csvLineLimit, type PlainFormat, type RejectTables } from './file-reading.ts';

export interface TableReference {
  /** `[Environment Default]`, empty or absent: the default of the warehouse. */
  database?: string | undefined;
  schema?: string | undefined;
  table: string;
}

/** A column type as written in the format: `[name, type, size, precision]`. */
export interface ColumnType {
  type: string;
  size?: string | undefined;
  precision?: string | undefined;
}

/** A name, value or type that cannot be expressed in the dialect. */
export class SqlError extends Error {}

export type FileFormat =
  | {
      type: 'CSV';
      header: boolean;
      delimiter: string;
      /** Of a file that is written: what encloses values, and what stands for NULL. */
      quote?: string;
      nullWord?: string;
    }
  /** `lineBytes`: a row on each line, as the agent writes what it converts; the longest has these bytes. */
  | { type: 'JSON'; lineBytes?: number }
  | { type: 'PARQUET' };

export interface FileColumn {
  name: string;
  /** An SQL type of the dialect. */
  type: string;
}

/** Statements of one session, in order. Several statements run in one transaction. */
export interface StatementList {
  readonly statements: readonly string[];
  /** The index of the statement whose row count is reported. */
  readonly counted: number;
  /** The last of several statements whose row counts are added; absent: `counted` alone. */
  readonly countedTo?: number;
}

/** A statement that is ready for the warehouse. */
export interface PreparedStatement {
  /** '' if it has no effect here. */
  readonly sql: string;
  /** Statements to run before it, in the same transaction, such as CREATE SCHEMA. */
  readonly before: readonly string[];
  /** A query whose rows are statements: they run after `sql`, such as one for each table of a schema. */
  readonly listed?: string;
  /** Statements to run after it, in the same transaction. */
  readonly after: readonly string[];
  /** A query: the statement is skipped if it returns no row. */
  readonly onlyIf?: string;
  /** SELECT, INSERT, CREATE TABLE, BEGIN, … */
  readonly kind: string;
}

/** A statement of a user as the warehouse runs it. */
export interface RewrittenStatement extends PreparedStatement {
  /** As the user wrote it, without the comments around it. */
  readonly written: string;
  /** What has no effect here, in plain English. */
  readonly notes: readonly string[];
  /** The line in the given text, from 1. */
  readonly line: number;
  readonly writes: readonly TableReference[];
  readonly reads: readonly TableReference[];
}

export interface RewrittenExpression {
  readonly sql: string;
  readonly notes: readonly string[];
}

/** SQL that people wrote, as SQL of the warehouse. */
export interface UserSql {
  /** How it is read as tokens. */
  readonly lexical: LexicalRules;
  /** @throws SqlError with the construct and the line */
  script(sql: string): readonly RewrittenStatement[];
  /** Exactly one SELECT, WITH or VALUES. @throws SqlError */
  query(sql: string): RewrittenStatement;
  /** Of a calculator, a filter or the condition of a join. @throws SqlError */
  expression(sql: string): RewrittenExpression;
}

export type TextMatch = 'contains' | 'starts' | 'ends' | 'like' | 'ilike';

/** What values of an API are. `decimal`: numbers with more digits than a double has, as text. */
export type ValueKind = 'text' | 'integer' | 'number' | 'decimal' | 'boolean' | 'json';

/** `fits`: a condition for the values that keep all they say; undefined: all do. */
export interface ValueFit {
  value: string;
  fits: string | undefined;
}

/** The values of a column as another type. */
export interface Conversion extends ValueFit {
  type: string;
}

/** A column of a result with its SQL. */
export interface NamedSql {
  readonly name: string;
  readonly sql: string;
}

/** Rows of one source, for a union by the names of the columns. */
export interface UnitedRows {
  /** The relation, as SQL. */
  readonly from: string;
  /** Its columns that are taken; undefined: all, and only the warehouse knows them. */
  readonly columns: readonly string[] | undefined;
  /** Whether these are all that it has. */
  readonly isWhole: boolean;
  readonly added: readonly NamedSql[];
}

export interface PivotedRows {
  readonly from: string;
  /** All columns of the relation; undefined: only the warehouse knows them. */
  readonly columns: readonly string[] | undefined;
  readonly label: string;
  readonly aggregated: string;
  /** Each value of the label, and the name of its column. */
  readonly values: readonly { readonly text: string; readonly name: string }[];
  /** The aggregate of a column, which is SQL. */
  aggregate(column: string): string;
}

export interface UnpivotedRows {
  readonly from: string;
  /** The columns that stay; undefined: only the warehouse knows them. */
  readonly kept: readonly string[] | undefined;
  readonly narrowed: readonly string[];
  /** The new columns. */
  readonly name: string;
  readonly value: string;
}

/** The first or last values of columns in each group. All but `side` are SQL. */
export interface GroupEnds {
  readonly from: string;
  /** None: all rows are one group. */
  readonly keys: readonly string[];
  readonly order: readonly string[];
  readonly columns: readonly {
    readonly side: 'first' | 'last';
    readonly column: string;
    readonly name: string;
  }[];
  readonly ignoresNulls: boolean;
}

export type TableCreation = 'create' | 'replace' | 'if-missing';

export interface MatchedRule {
  /** SQL; undefined: always. */
  readonly condition: string | undefined;
  readonly action: 'update' | 'delete' | 'none';
}

export interface CheckedMerge {
  /** The table, as SQL and as it is called in the conditions. */
  readonly table: string;
  readonly alias: string;
  /** With its alias. */
  readonly source: string;
  readonly condition: string;
  readonly rules: readonly MatchedRule[];
}

/** Rows put aside, and how they change a table. */
export interface RowMerge {
  readonly table: TableReference;
  /** The names of the table and of the rows in the conditions, as SQL. */
  readonly target: string;
  readonly source: string;
  /** The table of the rows, as SQL. */
  readonly aside: string;
  readonly condition: string;
  readonly rules: readonly MatchedRule[];
  /** Names of a column of the rows and of the table. */
  readonly updates: readonly (readonly [string, string])[];
  readonly inserts: readonly (readonly [string, string])[];
}

/** A CSV file whose bytes go through the connection. */
export interface CopiedCsv {
  readonly delimiter: string;
  readonly quote: string;
  readonly escapeCharacter: string;
  /** What means NULL; undefined: nothing does. */
  readonly nullWord: string | undefined;
  /** Whether it does so in quotes, too. */
  readonly isNullQuoted: boolean;
}

/** COPY through the connection. An embedded database in between reads and writes what is not plain CSV. */
export interface CopyDialect {
  readonly between: Dialect;
  /** The type in between of values of a type of the catalog here. */
  betweenType(type: string): string;
  /** The type here of a column in between. */
  ownType(type: string): string;
  /** A relation in between over a file of `copyOut`, without a header, with the standard separators. */
  readCopied(path: string, columns: readonly FileColumn[]): string;
  /** Writes rows in between to a file that `copyIn` reads by the standard separators. */
  writeCopied(table: string, path: string): string;
  /** @param name of the file, in a statement that is only shown */
  copyIn(table: string, columns: readonly string[], format: CopiedCsv, name?: string): string;
  /**
   * @param name of the file, in a statement that is only shown
   * @throws SqlError for Parquet, which is written in between
   */
  copyOut(query: string, format: FileFormat, name?: string): string;
}

export interface Dialect {
  readonly user: UserSql;
  /** The type of texts of any length, in a CAST. */
  readonly text: string;
  /**
   * Whether SQL must name all columns to change some of them. Then planning asks the warehouse for the columns of
   * every source, and `columns` is known in all the parts below.
   */
  readonly namesAllColumns: boolean;
  /** Whether the warehouse takes columns for the same whose names differ only in case, also in quotes. */
  readonly ignoresCase?: true;
  /** Whether the warehouse keeps PRIMARY KEY and UNIQUE. Else they are declared by comments (`keys.ts`). */
  readonly enforcesKeys: boolean;
  /** Whether what changes who may read has no effect. Else it is refused. */
  readonly ignoresAccess: boolean;
  /** A comment that names a component to those who watch the warehouse; '' if nobody does. */
  label(component: string): string;
  name(identifier: string): string;
  literal(value: ExpressionValue): string;
  /** @throws SqlError listing the known types */
  type(column: ColumnType): string;
  /** What follows the type of a column of CREATE TABLE so that longer texts are refused, with a blank before it. */
  lengthCheck(name: string, column: ColumnType): string;
  /**
   * A value as a type that `type` gave. Texts may be dates and times in the formats that the vendor's
   * warehouse recognizes. `isTolerant`: NULL instead of an error.
   */
  cast(sql: string, type: string, isTolerant: boolean): string;
  /** A value of an API as a type of the catalog. Its SQL type: VARCHAR, BIGINT, DOUBLE, VARCHAR, BOOLEAN, JSON. */
  fitValue(sql: string, kind: ValueKind, type: string): ValueFit;
  /** Types that a column may get for values that do not fit it, the narrowest first. */
  listWiderTypes(column: string, type: string, kind: ValueKind): readonly Conversion[];
  table(reference: TableReference): string;
  /** Statements that make the schema of a table that is about to be made; none if it is always there. */
  makeSchema(reference: TableReference): readonly string[];
  /** One row for each table of that name; no row if it does not exist. */
  tableExists(reference: TableReference): string;
  /** Rows `(column name, type)` of a table, in order. */
  tableColumns(reference: TableReference): string;
  /** All columns of a relation, some of them with other SQL. */
  columnsReplaced(columns: readonly string[] | undefined, replaced: readonly NamedSql[]): string;
  /** All columns of a relation but one. */
  columnsWithout(columns: readonly string[] | undefined, name: string): string;
  uniteByName(parts: readonly UnitedRows[], isDistinct: boolean): string;
  pivot(rows: PivotedRows): string;
  unpivot(rows: UnpivotedRows): string;
  /**
   * An aggregate that is not the same in all warehouses; undefined: it is.
   *
   * @param over its window, or ''
   * @param within a PIVOT may take nothing but a call of the function
   */
  aggregate(word: string, column: string, over: string, within: 'rows' | 'pivot'): string | undefined;
  /** The first or last value of a group. `order`: an ORDER BY clause, or ''; `filter`: a FILTER clause, or ''. */
  firstOrLast(side: 'first' | 'last', column: string, order: string, filter: string): string;
  /** A query with the first and last values of groups, where no aggregate gives them. */
  groupEnds?(ends: GroupEnds): string;
  /** A call of `lead` or `lag` that passes over NULLs. */
  ignoreNulls(call: string): string;
  /** Whether a text has a part, is like a pattern, …; both are SQL. */
  matchText(how: TextMatch, text: string, pattern: string): string;
  /** Whether a whole text is similar to a pattern of SIMILAR TO. */
  matchSimilar(text: string, pattern: string): string;
  /** Compares a column of any type with a number that has a fraction. */
  compareFraction(column: string, operator: string, fraction: string): string;
  /** Rows `(column, type)` of columns of a relation. Texts of any length have the type VARCHAR. */
  columnTypes(from: string, columns: readonly string[]): string;
  /** Fails the statement with a message, which is SQL. */
  raise(message: string): string;
  /** Whether two values differ, where NULL is a value. */
  differ(left: string, right: string): string;
  /** A relation with the given rows. */
  listRows(rows: readonly (readonly string[])[], columns: readonly string[]): string;
  /** The texts of a group with a separator between them, in an order. */
  gatherTexts(text: string, separator: string, order: string): string;
  /** A query for the numbers of a sequence. */
  countUp(start: number, end: number, step: number, column: string): string;
  /** The statements of a MERGE. */
  merge(merge: RowMerge): readonly string[];
  /** Statements that fail if rows of the source change the same row of the table. */
  checkMerge(merge: CheckedMerge): readonly string[];
  /** How CREATE TABLE begins, after the statements before it. */
  beginTable(table: string, creation: TableCreation): { before: readonly string[]; create: string };
  /** Makes a table of the rows of a query, which may read the table. */
  replaceTable(reference: TableReference, query: string): StatementList;
  /** All columns of a relation except some, if its columns are not known. */
  columnsExcept(names: readonly string[]): string;
  /** Whether a table's name matches: rows `(table name)`, in order. */
  tablesLike(schema: Omit<TableReference, 'table'>, pattern: string, isRegex: boolean): string;
  /** All columns, some of them renamed. */
  columnsRenamed(renames: readonly (readonly [string, string])[]): string;
  /**
   * Statements that replace all rows of a table in one transaction. `query` may read the same table.
   * `columns` are the columns of `query`; undefined: match columns by name.
   */
  replaceRows(table: string, query: string, columns: readonly string[] | undefined): StatementList;
  /** The name of a temporary table, which no other table has. */
  temporaryTable(name: string): string;
  createTemporaryTable(table: string, query: string): string;
  insertRows(table: string, query: string, columns: readonly string[] | undefined): string;
  /** A relation over one file. `path` is absolute; wildcards in it are taken literally. */
  readFile(path: string, format: FileFormat, columns: readonly FileColumn[]): string;
  /** The path of a file as it stands in a statement. */
  quotePath(path: string): string;
  /** A query for the bytes of a file. */
  readFileSize(path: string): string;
  /** A query for the cells of the first line of a CSV file, as texts. */
  readFirstLine(path: string, delimiter: string): string;
  /** One row with the names of the members of all records of a JSON file, as a JSON array; NULL without records. */
  readJsonMembers(path: string): string;
  /**
   * A relation over a file with a JSON object on each line: `n`, which counts them, `r` of the given SQL type, and
   * `x`, a list of texts.
   *
   * @param lineBytes of the longest line
   */
  readRecords(path: string, type: string, lineBytes: number): string;
  /**
   * A relation over a CSV file whose columns, of texts, have these names. Rows that cannot be divided into values go to
   * the rejects tables; without them they end the statement.
   */
  readDelimited(path: string, format: CsvFormat, columns: readonly string[], rejects?: RejectTables): string;
  /** Rows `(line, kind, message)` of what was rejected, in order. */
  listRejects(rejects: RejectTables, limit: number): string;
  dropRejects(rejects: RejectTables): readonly string[];
  /** A relation over the objects of a file. */
  readObjects(path: string, format: PlainFormat): string;
  /** Rows with the names of the members of all objects of a file. */
  listObjectMembers(path: string, format: PlainFormat): string;
  /** The first of these members of an object of `readObjects`, or the whole object, as a text and as JSON. */
  objectValue(format: PlainFormat, members: readonly string[] | undefined): { text: string; json: string };
  /** Rows `(column, length)` of the columns of a table whose texts have a limit. */
  textLengths(reference: TableReference): string;
  /** How rows get into files and out of them if the warehouse reaches no files; absent: by the statements above. */
  readonly copy?: CopyDialect;
  /** Whose statements load and unload objects (`stores/`); absent: the agent fetches and writes them. */
  readonly stores?: 'redshift' | 'snowflake';
  /** Statements after which no other transaction loads into the table before this one has ended. */
  lockTable(target: TableReference): readonly string[];
  /** Writes a query's rows to one file. */
  writeFile(query: string, path: string, format: FileFormat): string;
}
