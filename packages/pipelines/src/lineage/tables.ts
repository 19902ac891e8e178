/** The tables that the statements of one run meet, in their order: what is in the warehouse, and what they make. */
import { datasetNames, isSystemTable, isTemporaryPath } from './dataset-name.ts';
import { createTableRelation, type FieldType, type Relation, type Table } from './relation.ts';

/** The columns of a table in the warehouse: null if there is no such table, undefined if it was not asked for. */
export type FindFields = (name: string) => readonly FieldType[] | null | undefined;

/** What remains from one statement to the next. */
export interface RunTables {
  /** Temporary tables and views, by name in lower case. */
  readonly temporary: Map<string, Relation>;
}

export const createRunTables = (): RunTables => ({ temporary: new Map() });

export class StatementTables {
  readonly #run: RunTables;
  readonly #find: FindFields;
  readonly #nameFile: (path: string) => string;
  /** Tables of the step, one object for each. */
  readonly #known: Map<string, Table>;
  /** Columns of tables that the step made. */
  readonly #made = new Map<string, readonly FieldType[]>();
  /** Names whose columns would say more. */
  readonly needed = new Set<string>();

  constructor(run: RunTables, find: FindFields, nameFile: (path: string) => string) {
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
    return this.#intern('warehouse', datasetNames.warehouse(path));
  }

  getFile(path: string): Table {
    return this.#intern('file', datasetNames.file(this.#nameFile(path)));
  }

  getRelation(table: Table): Relation {
    return createTableRelation(table);
  }

  #intern(kind: Table['kind'], name: string): Table {
    const key = `${kind} ${name}`;
    const before = this.#known.get(key);
    const fields = kind === 'warehouse' ? this.#findFields(name) : undefined;
    if (before !== undefined && before.fields === fields) return before;
    const table = { kind, name, fields };
    this.#known.set(key, table);
    return table;
  }

  #findFields(name: string): readonly FieldType[] | undefined {
    const made = this.#made.get(name);
    if (made !== undefined) return made;
    const found = this.#find(name);
    if (found === undefined) this.needed.add(name);
    return found ?? undefined;
  }

  /** A statement has made the table with these columns. */
  setFields(name: string, fields: readonly FieldType[] | undefined): void {
    if (fields === undefined) this.#made.delete(name);
    else this.#made.set(name, fields);
  }
}

const keyOf = (path: readonly string[]) => (path.at(-1) ?? '').toLowerCase();
