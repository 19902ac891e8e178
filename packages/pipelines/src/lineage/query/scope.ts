/** What the names in a part of a query mean. */
import {
  addSources,
  type Column,
  createSource,
  emptyRelation,
  findColumn,
  findRest,
  isSameColumn,
  merge,
  noSources,
  type Relation,
  type Source,
  type Sources,
} from './relation.ts';
import type { Json } from './tree.ts';

/** A relation in FROM. */
interface Entry {
  /** The names before a column: `t`, or `schema.t`. */
  readonly path: readonly string[];
  readonly relation: Relation;
  /** Columns that a join by USING has merged with those of another relation: they are not shown again. */
  readonly hidden: Set<string>;
}

/** What the analysis of one statement shares. */
export interface Walk {
  /** The name of a column of VALUES, from 0. */
  nameValue(index: number): string;
  /** A reason why something is missing. */
  addGap(reason: string): void;
  /** Reads a table; undefined if it is one that describes the warehouse. */
  readTable(path: readonly string[]): Relation | undefined;
  readFile(path: string): Relation;
  findTemporary(path: readonly string[]): Relation | undefined;
  analyzeQuery(query: Json | undefined, tables: ReadonlyMap<string, Relation>, outer: Scope): Relation;
  /** A statement that changes rows, with the common tables around it. Gives what it returns. */
  analyzeChange(statement: Json | undefined, tables: ReadonlyMap<string, Relation>): Relation;
}

export class Scope {
  readonly walk: Walk;
  readonly #outer: Scope | undefined;
  readonly #tables: ReadonlyMap<string, Relation>;
  readonly #entries: Entry[] = [];
  readonly #merged = new Map<string, Sources>();
  /** Of SELECT, in order. */
  #aliases: Column[] = [];
  #bound: readonly string[] = [];
  /** What decides which rows the query has. */
  readonly rows = new Map<string, Source>();

  /** @param tables the common tables that are known here, by name in lower case */
  constructor(walk: Walk, tables: ReadonlyMap<string, Relation>, outer?: Scope) {
    this.walk = walk;
    this.#tables = tables;
    this.#outer = outer;
  }

  /** A subquery, which may use the names that are known here. */
  analyzeQuery(query: Json | undefined): Relation {
    return this.walk.analyzeQuery(query, this.#tables, this);
  }

  get tables(): ReadonlyMap<string, Relation> {
    return this.#tables;
  }

  addRows(sources: Sources): void {
    addSources(this.rows, sources);
  }

  add(path: readonly string[], relation: Relation): void {
    this.#entries.push({ path, relation, hidden: new Set() });
    this.addRows(relation.rows);
  }

  /** The relations that are there so far. */
  get size(): number {
    return this.#entries.length;
  }

  /** The columns that both sides of a join have, which is after the first `size` relations. */
  listCommon(size: number): string[] {
    const left = this.#listColumns(this.#entries.slice(0, size));
    const right = this.#listColumns(this.#entries.slice(size));
    return right.flatMap(({ name }) => (left.some((each) => isSameColumn(each.name, name)) ? [name] : []));
  }

  /** Merges the columns of a join by USING. */
  mergeColumns(names: readonly string[], size: number, kind: 'left' | 'right' | 'full'): void {
    for (const name of names) {
      const find = (entries: readonly Entry[]) => findIn(entries, name) ?? noSources;
      const left = this.#merged.get(name.toLowerCase()) ?? find(this.#entries.slice(0, size));
      const right = find(this.#entries.slice(size));
      this.addRows(left);
      this.addRows(right);
      const merged = kind === 'left' ? left : kind === 'right' ? right : merge([left, right]);
      this.#merged.set(name.toLowerCase(), merged);
      for (const { hidden } of this.#entries.slice(size)) hidden.add(name.toLowerCase());
    }
  }

  /** Drops the relations after the first `size`: a semi join shows none of their columns. */
  cut(size: number): void {
    this.#entries.length = size;
  }

  #listColumns(entries: readonly Entry[]): Column[] {
    return entries.flatMap(({ relation, hidden }) =>
      relation.columns
        .filter(({ name }) => !hidden.has(name.toLowerCase()))
        .map(({ name, sources }) => ({ name, sources: this.#merged.get(name.toLowerCase()) ?? sources })),
    );
  }

  /** What `*` means, or `t.*`. */
  getAll(path?: readonly string[]): Relation {
    if (path === undefined) {
      const rest = this.#entries.flatMap(({ relation }) => relation.rest);
      return { columns: this.#listColumns(this.#entries), rest, rows: noSources };
    }
    const entry = this.#findEntry(path);
    if (entry !== undefined) return { ...entry.relation, rows: noSources };
    if (this.#outer !== undefined) return this.#outer.getAll(path);
    // `s.*` of a column that is a struct.
    const sources = this.find(path) ?? noSources;
    return { ...emptyRelation, rest: [{ sources: merge([sources], 'CHANGED') }] };
  }

  #findEntry(path: readonly string[]): Entry | undefined {
    const isSame = ({ path: own }: Entry) =>
      path.length <= own.length &&
      path.every((name, index) => isSameColumn(name, own[own.length - path.length + index] ?? ''));
    return this.#entries.find(isSame);
  }

  addAlias(column: Column): void {
    this.#aliases.push(column);
  }

  /** The column of SELECT at a position, from 1. */
  getPosition(position: number): Sources | undefined {
    return this.#aliases[position - 1]?.sources;
  }

  /** The same names, and the parameters of a lambda. */
  bind(names: readonly string[]): Scope {
    const inner = new Scope(this.walk, this.#tables, this);
    inner.#bound = names;
    return inner;
  }

  /** The sources of `column`, `table.column` or `column.member`; undefined if nothing has this name. */
  find(path: readonly string[]): Sources | undefined {
    const [first = '', ...others] = path;
    if (this.#bound.some((name) => isSameColumn(name, first))) return noSources;
    if (others.length === 0) return this.#findName(first) ?? this.#outer?.find(path);
    // The longest name of a table first: `schema.table.column`, `table.column.member`.
    for (let length = Math.min(path.length - 1, 3); length > 0; length -= 1) {
      const entry = this.#findEntry(path.slice(0, length));
      const name = path[length] ?? '';
      const found =
        entry && (findColumn(entry.relation, name) ?? findRest(entry.relation, name) ?? undefined);
      if (found !== undefined) return readMember(found, path.slice(length + 1));
    }
    const column = this.#findName(first);
    if (column !== undefined) return readMember(column, others);
    return this.#outer?.find(path);
  }

  #findName(name: string): Sources | undefined {
    return (
      this.#merged.get(name.toLowerCase()) ??
      findIn(this.#entries, name) ??
      this.#aliases.find((alias) => isSameColumn(alias.name, name))?.sources ??
      this.#findRow(name) ??
      findAnyRest(this.#entries, name)
    );
  }

  /** A name of a table stands for its whole row. */
  #findRow(name: string): Sources | undefined {
    const entry = this.#findEntry([name]);
    if (entry === undefined) return undefined;
    const { columns, rest } = entry.relation;
    return merge(
      [
        ...columns.map(({ sources }) => sources),
        ...rest.flatMap((each) => ('sources' in each ? [each.sources] : [])),
      ],
      'CHANGED',
    );
  }
}

/** A member of a struct changes the value. The members of a row of an API are its fields. */
function readMember(sources: Sources, [member]: readonly string[]): Sources {
  if (member === undefined) return sources;
  const isOfApi = ({ table }: Source) => table.kind === 'api';
  const tables = [...sources.values()].filter(isOfApi).map(({ table }) => createSource(table, member));
  const others = new Map([...sources].filter(([, source]) => !isOfApi(source)));
  return merge([...tables, merge([others], 'CHANGED')]);
}

function findIn(entries: readonly Entry[], name: string): Sources | undefined {
  for (const { relation, hidden } of entries) {
    const found = hidden.has(name.toLowerCase()) ? undefined : findColumn(relation, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The column may be of any relation whose columns are not known. */
function findAnyRest(entries: readonly Entry[], name: string): Sources | undefined {
  const found = entries.flatMap(({ relation }) => findRest(relation, name) ?? []);
  return found.length === 0 ? undefined : merge(found);
}
