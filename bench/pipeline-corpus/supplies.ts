import { rowCount, type TextKind } from './values.ts';

/** Values of a pipeline's variables. */
export interface Inputs {
  readonly scalars: Readonly<Record<string, string>>;
  readonly grids: Readonly<Record<string, readonly (readonly string[])[]>>;
}

/** How the component that looks for an object reads it. */
export interface ObjectUse {
  readonly pattern: string;
  readonly type: 'CSV' | 'JSON';
  readonly delimiter: string;
  readonly headerLines: number;
  readonly isArray: boolean;
  readonly byName: boolean;
  readonly columns: readonly string[];
  /** The table that is loaded; '' if its name is an expression. */
  readonly table: string;
}

/**
 * What a pipeline needs and its repository does not have. A run fails and names it; then it is supplied, and the run
 * begins again with an empty database. Rows are made from the names of the columns; see `docs/pipeline-corpus.md`.
 */
export interface Supplies {
  /** SQL to run before the pipeline. */
  readonly schemas: Set<string>;
  /** Columns with their types, by the table. */
  readonly tables: Map<string, Map<string, string>>;
  /** The names of tables that are to be views, in lower case. */
  readonly views: Set<string>;
  readonly variables: Map<string, string>;
  readonly secrets: Set<string>;
  /** Connector profiles: their texts, by the names of their files. */
  readonly profiles: Map<string, string>;
  /** Stages, by the names that messages give them. */
  readonly stages: Set<string>;
  /** Objects of stores, by their addresses. */
  readonly objects: Map<string, ObjectUse>;
  /** Called pipelines that are elsewhere in the repository: where, by the name of the call. */
  readonly moved: Map<string, string>;
  /** The values of columns in the first row, by their names in lower case. */
  readonly values: Map<string, string>;
  /** Types that columns had. */
  readonly changes: Set<string>;
  /** Of the pipeline's variables; absent: it starts without any. */
  inputs?: Inputs;
  /** The rows of each table. */
  rows: number;
  /** What texts look like. */
  texts: TextKind;
}

export const createSupplies = (): Supplies => ({
  schemas: new Set(),
  tables: new Map(),
  views: new Set(),
  variables: new Map(),
  secrets: new Set(),
  profiles: new Map(),
  stages: new Set(),
  objects: new Map(),
  moved: new Map(),
  values: new Map(),
  changes: new Set(),
  rows: rowCount,
  texts: 'number',
});
