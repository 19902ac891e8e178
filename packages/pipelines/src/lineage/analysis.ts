/** What the analysis of one statement has found so far, and the tables that it meets. */
import type { Write } from './effect.ts';
import { analyzeQuery } from './query/query.ts';
import {
  addSources,
  emptyRelation,
  isSameColumn,
  merge,
  noSources,
  type Relation,
  type Table,
} from './query/relation.ts';
import type { Scope, Walk } from './query/scope.ts';
import { type Json, readTag } from './query/tree.ts';
import type { StatementTables } from './tables.ts';

/** Analyzes what a statement that changes rows holds. Gives the relation of RETURNING. */
export type AnalyzeChange = (content: Json | undefined, analysis: Analysis) => Relation;

/** By the tag of the statement. */
export type Changes = Readonly<Record<string, AnalyzeChange>>;

export class Analysis implements Walk {
  readonly tables: StatementTables;
  readonly isByName: boolean;
  readonly #changes: Changes;
  readonly reads = new Set<Table>();
  readonly writes: Write[] = [];
  readonly gaps = new Set<string>();
  /** Of the WITH around a statement that changes something. */
  common: ReadonlyMap<string, Relation> = new Map();

  constructor(tables: StatementTables, isByName: boolean, changes: Changes) {
    this.#changes = changes;
    this.tables = tables;
    this.isByName = isByName;
  }

  addGap(reason: string): void {
    this.gaps.add(reason);
  }

  readTable(path: readonly string[]): Relation | undefined {
    if (this.tables.dialect.isSystem(path)) return undefined;
    if (this.tables.dialect.isTemporary(path)) {
      this.addGap(`the temporary table "${path.at(-1)}" was not made by an analyzed statement`);
      return undefined;
    }
    if (this.#isUnplaced(path)) return undefined;
    const table = this.tables.get(path);
    this.reads.add(table);
    return this.tables.getRelation(table);
  }

  #isUnplaced(path: readonly string[]): boolean {
    if (!this.tables.isUnplaced(path)) return false;
    this.addGap('the session has set its search path: tables without a schema are left out');
    return true;
  }

  readFile(path: string): Relation {
    const table = this.tables.getFile(path);
    this.reads.add(table);
    return this.tables.getRelation(table);
  }

  findTemporary(path: readonly string[]): Relation | undefined {
    return this.tables.findTemporary(path);
  }

  analyzeQuery(value: Json | undefined, tables: ReadonlyMap<string, Relation>, outer: Scope): Relation {
    return analyzeQuery(value, tables, this, outer);
  }

  query(value: Json | undefined): Relation {
    return analyzeQuery(value, this.common, this);
  }

  nameValue(index: number): string {
    return this.tables.dialect.nameValue(index);
  }

  analyzeChange(statement: Json | undefined, tables: ReadonlyMap<string, Relation>): Relation {
    const before = this.common;
    this.common = tables;
    const [kind, content] = readTag(statement);
    const relation = this.#changes[kind]?.(content, this);
    this.common = before;
    return relation ?? emptyRelation;
  }

  /** A table that the statement changes. Its own values count as read only where they are used. */
  getTarget(path: readonly string[]): Relation {
    const temporary = this.findTemporary(path);
    if (temporary !== undefined) return temporary;
    return this.#isUnplaced(path) ? emptyRelation : this.tables.getRelation(this.tables.get(path));
  }

  /** Records that a table gets rows, or that a temporary one does. */
  write(path: readonly string[], write: Omit<Write, 'table'>): void {
    if (this.tables.dialect.isSystem(path)) return;
    if (this.#isUnplaced(path)) return;
    if (!this.tables.isTemporary(path)) this.writes.push({ table: this.tables.get(path), ...write });
    else this.#writeTemporary(path, write);
  }

  #writeTemporary(path: readonly string[], { columns, rows, isDropped }: Omit<Write, 'table'>): void {
    const before = this.tables.findTemporary(path);
    if (isDropped) this.tables.setTemporary(path, undefined);
    if (isDropped || before === undefined) return;
    const all = new Map(before.rows);
    addSources(all, rows);
    const added = (name: string) =>
      columns?.find((column) => isSameColumn(column.name, name))?.sources ?? noSources;
    this.tables.setTemporary(path, {
      ...before,
      columns: before.columns.map(({ name, sources }) => ({ name, sources: merge([sources, added(name)]) })),
      rows: all,
    });
  }
}
