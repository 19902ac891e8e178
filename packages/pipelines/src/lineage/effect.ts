/** What one statement reads and writes. */
import type { Column, Sources, Table } from './query/relation.ts';

export interface Write {
  readonly table: Table;
  /** Undefined if they are not known. */
  readonly columns: readonly Column[] | undefined;
  /** What decides which rows are written. */
  readonly rows: Sources;
  /** The table is new, or has no row of before. */
  readonly isReplaced?: true;
  /** There was no table of this name before. */
  readonly isNew?: true;
  readonly isDropped?: true;
  /** The table that had this name's rows before, under another name. */
  readonly renamedFrom?: Table;
}

export interface Effect {
  readonly reads: ReadonlySet<Table>;
  readonly writes: readonly Write[];
  readonly gaps: readonly string[];
}
