/** Where the rows of a file go if it does not reach the warehouse by itself. */
import type { FileColumn, FileFormat, TableCreation, TableReference } from '../sql/dialect/dialect.ts';

/** What a load of a file does with a table. */
export type FileCreation = TableCreation | 'append';

export interface FileTarget {
  readonly target: TableReference;
  readonly creation: FileCreation;
  readonly format: FileFormat;
  /** Those that the component names. */
  readonly columns: readonly FileColumn[];
}
