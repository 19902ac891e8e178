/** The tables that the statements of one run meet, in their order: what is in the warehouse, and what they make. */
import { datasetNames, isSystemTable, isTemporaryPath } from './dataset-name.ts';
import { createTableRelation, type FieldType, type Relation, type Table } from './query/relation.ts';

/** The columns of a table in the warehouse: null if there is no such table, undefined if it was not asked for. */
export type FindFields = (name: string) => readonly FieldType[] | null | undefined;

/** The place that a path in SQL stands for. */
export type NameFile = (path: string) => Pick<Table, 'kind' | 'name'>;

/** What remains from one statement to the next. */
export interface RunTables {
  /** Temporary tables and views, by name in lower case. */
  readonly temporary: Map<string, Relation>;
}

/** @param before it is copied, so that a step can be analyzed again */
export const createRunTables = (before?: RunTables): RunTables => ({ temporary: new Map(before?.temporary) });

export class StatementTables {
  readonly #run: RunTables;
  readonly #find: FindFields;
  readonly #nameFile: NameFile;
  /** Tables of the step, one object for each. */
  readonly #known: Map<string, Table>;
  /** Columns of tables that the step made. */
  readonly #made = new Map<string, readonly FieldType[]>();
  /** Names whose columns would say more. */
  readonly needed = new Map<string, readonly string[]>();

  constructor(run: RunTables, find: FindFields, nameFile: NameFile) {
    this.#run = run;
    this.#find = find;
    this.#nameFile = nameFile;
    this.#known = new Map();
  }

  isTemporary(path: readonly string[]): boolean {
    return isTemporaryPath(path) || (path.length === 1 && this.#run.temporary.has(keyOf(path)));
  }

  findTemporary(path: readonly string[]): Relation | undefined {
    return this.isTemporary(path) ? this.#run.temporary.get(keyOf(path)) : undefined;
  }

  setTemporary(path: readonly string[], relation: Relation | undefined): void {
    if (relation === undefined) this.#run.temporary.delete(keyOf(path));
    else this.#run.temporary.set(keyOf(path), relation);
  }

  isSystem(path: readonly string[]): boolean {
    return isSystemTable(path);
  }

  /** A table of the warehouse. */
  get(path: readonly string[]): Table {
    return this.#intern('warehouse', datasetNames.warehouse(path), path);
  }

  getFile(path: string): Table {
    const { kind, name } = this.#nameFile(path);
    return this.#intern(kind, name, []);
  }

  getRelation(table: Table): Relation {
    return createTableRelation(table);
  }

  #intern(kind: Table['kind'], name: string, path: readonly string[]): Table {
    const key = `${kind} ${name}`;
    const before = this.#known.get(key);
    const fields = kind === 'warehouse' ? (this.#made.get(name) ?? this.findAfter(name, path)) : undefined;
    if (before !== undefined && before.fields === fields) return before;
    const table = { kind, name, path, fields };
    this.#known.set(key, table);
    return table;
  }

  /** The columns of a table in the warehouse after the step. */
  findAfter(name: string, path: readonly string[]): readonly FieldType[] | undefined {
    const found = this.#find(name);
    if (found === undefined) this.needed.set(name, path);
    return found ?? undefined;
  }

  /** A statement has made the table with these columns. */
  setFields(name: string, fields: readonly FieldType[] | undefined): void {
    if (fields === undefined) this.#made.delete(name);
    else this.#made.set(name, fields);
  }
}

const keyOf = (path: readonly string[]) => (path.at(-1) ?? '').toLowerCase();
