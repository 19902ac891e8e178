/**
 * What differs between warehouses. Names and literals go through `name` and `literal` and nothing else, so that no text of a tenant
 * becomes SQL by accident; SQL that a tenant writes as SQL stays SQL and is confined by the warehouse.
 */
import type { ExpressionValue } from '../expressions.ts';

export interface TableReference {
  /** `[Environment Default]`, empty or absent: the warehouse's own. */
  database?: string | undefined;
  schema?: string | undefined;
  table: string;
}

/** A column as the format gives it: `[name, type, size, precision]`. */
export interface ColumnType {
  type: string;
  size?: string | undefined;
  precision?: string | undefined;
}

/** A name, value or type that the dialect cannot express. */
export class SqlError extends Error {}

export type FileFormat =
  | { type: 'CSV'; header: boolean; delimiter: string }
  | { type: 'JSON' }
  | { type: 'PARQUET' };

export interface FileColumn {
  name: string;
  /** In the dialect's own words. */
  type: string;
}

/** Statements of one session, in order. Several are one transaction. */
export interface StatementList {
  readonly statements: readonly string[];
  /** The index of the one whose rows count. */
  readonly counted: number;
}

export interface Dialect {
  name(identifier: string): string;
  literal(value: ExpressionValue): string;
  /** @throws SqlError naming the types that there are */
  type(column: ColumnType): string;
  table(reference: TableReference): string;
  /** One row for each table of that name; none when it does not exist. */
  tableExists(reference: TableReference): string;
  /** Rows `(column name, type)` of a table, in order. */
  tableColumns(reference: TableReference): string;
  /** The columns of a relation but for some, when its columns are not known beforehand. */
  columnsExcept(names: readonly string[]): string;
  /** All columns, some of them renamed. */
  columnsRenamed(renames: readonly (readonly [string, string])[]): string;
  /**
   * Statements that together, in one transaction, replace all rows of a table, which `query` may read too. `columns` are those that `query`
   * yields; undefined: match them by name.
   */
  replaceRows(table: string, query: string, columns: readonly string[] | undefined): StatementList;
  insertRows(table: string, query: string, columns: readonly string[] | undefined): string;
  /** A relation over one file; `path` is absolute, and is one file whatever characters it holds. */
  readFile(path: string, format: FileFormat, columns: readonly FileColumn[]): string;
  /** Writes a query's rows to one file. */
  writeFile(query: string, path: string, format: FileFormat): string;
}
