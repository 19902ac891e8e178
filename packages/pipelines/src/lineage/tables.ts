/** The tables that the statements of one run meet, in their order: what is in the warehouse, and what they make. */
import type { LineageDialect } from './naming/dialect.ts';
import { createTableRelation, type FieldType, type Relation, type Table } from './query/relation.ts';

/** The columns of a table in the warehouse: null if there is no such table, undefined if it was not asked for. */
export type FindFields = (name: string) => readonly FieldType[] | null | undefined;

/** The place that a path in SQL stands for. */
export type NameFile = (path: string) => Pick<Table, 'kind' | 'name'>;

/** What remains from one statement to the next. */
export interface RunTables {
  /** Temporary tables and views, by name in lower case. */
  readonly temporary: Map<string, Relation>;
  /** The session no longer looks for tables where its connection says. */
  hasOwnPath: boolean;
}

/** @param before it is copied, so that a step can be analyzed again */
export const createRunTables = (before?: RunTables): RunTables => ({
  temporary: new Map(before?.temporary),
  hasOwnPath: before?.hasOwnPath ?? false,
});

export class StatementTables {
  readonly dialect: LineageDialect;
  readonly #run: RunTables;
  readonly #find: FindFields;
  readonly #nameFile: NameFile;
  /** Tables of the step, one object for each. */
  readonly #known: Map<string, Table>;
  /** Columns of tables that the step made. */
  readonly #made = new Map<string, readonly FieldType[]>();
  /** Names whose columns would say more. */
  readonly needed = new Map<string, readonly string[]>();

  constructor(dialect: LineageDialect, run: RunTables, find: FindFields, nameFile: NameFile) {
    this.dialect = dialect;
    this.#run = run;
    this.#find = find;
    this.#nameFile = nameFile;
    this.#known = new Map();
  }

  isTemporary(path: readonly string[]): boolean {
    return this.dialect.isTemporary(path) || (path.length === 1 && this.#run.temporary.has(keyOf(path)));
  }

  findTemporary(path: readonly string[]): Relation | undefined {
    return this.isTemporary(path) ? this.#run.temporary.get(keyOf(path)) : undefined;
  }

  setTemporary(path: readonly string[], relation: Relation | undefined): void {
    if (relation === undefined) this.#run.temporary.delete(keyOf(path));
    else this.#run.temporary.set(keyOf(path), relation);
  }

  /** Whether a name without a schema may mean another table than the connection says. */
  isUnplaced(path: readonly string[]): boolean {
    return this.#run.hasOwnPath && path.length === 1 && !this.isTemporary(path);
  }

  setOwnPath(): void {
    this.#run.hasOwnPath = true;
  }

  /** A table of the warehouse: the nearest that is there, or else the one that would be made. */
  get(path: readonly string[]): Table {
    const places = this.dialect.listPlaces(path).map((place) => ({
      place,
      name: this.dialect.nameTable(place),
    }));
    const { name, place } = places.find((each) => this.#isThere(each.name, each.place)) ??
      places[0] ?? { name: '', place: path };
    return this.#intern('warehouse', name, place);
  }

  /** One that was not asked for counts as there. The step is analyzed again when its columns are known. */
  #isThere(name: string, place: readonly string[]): boolean {
    if (this.#made.has(name)) return true;
    const found = this.#find(name);
    if (found === undefined) this.needed.set(name, place);
    return found !== null;
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
