/**
 * What a query gives: its columns, each with the fields of tables that its values come from, and apart from
 * them the fields that only decide which rows there are.
 *
 * - **table**: a table, a view or a file from which values come or to which they go.
 * - **source**: a field of a table, and what happens to its value on the way.
 */
export type Transformation = 'IDENTITY' | 'CHANGED' | 'AGGREGATED';

export interface FieldType {
  readonly name: string;
  readonly type?: string;
}

/** One object for each name in an analysis, so that tables are compared by identity. */
export interface Table {
  readonly kind: 'warehouse' | 'file' | 'api' | 'object';
  /** As in the lineage of a step. */
  readonly name: string;
  /** The names in SQL of the warehouse; empty for a file. */
  readonly path: readonly string[];
  /** In order; undefined if they are not known. */
  readonly fields: readonly FieldType[] | undefined;
}

export interface Source {
  readonly table: Table;
  readonly field: string;
  readonly how: Transformation;
}

/** By table and field. SQL ignores the case of names. */
export type Sources = ReadonlyMap<string, Source>;

export interface Column {
  readonly name: string;
  readonly sources: Sources;
}

/** What a column gets that is not among the known ones: a field of a table, or the values of an expression. */
export type Rest = { readonly table: Table } | { readonly sources: Sources };

export interface Relation {
  readonly columns: readonly Column[];
  /** It has other columns, too, which are not known. */
  readonly rest: readonly Rest[];
  /** What decides which rows there are. */
  readonly rows: Sources;
}

export const noSources: Sources = new Map();
export const emptyRelation: Relation = { columns: [], rest: [], rows: noSources };

const order: readonly Transformation[] = ['IDENTITY', 'CHANGED', 'AGGREGATED'];
const later = (one: Transformation, other: Transformation) =>
  order.indexOf(one) >= order.indexOf(other) ? one : other;

export function createSource(table: Table, field: string): Sources {
  const known = table.fields?.find(({ name }) => isSameColumn(name, field))?.name;
  return new Map([[keyOf(table, field), { table, field: known ?? field, how: 'IDENTITY' }]]);
}

const keyOf = (table: Table, field: string) => `${table.kind} ${table.name}\n${field.toLowerCase()}`;

/** Adds sources to a collection. One that comes in several ways counts by the strongest. */
export function addSources(
  target: Map<string, Source>,
  added: Sources,
  how: Transformation = 'IDENTITY',
): void {
  for (const [key, source] of added) {
    const before = target.get(key);
    const through = later(source.how, how);
    const strongest = before === undefined ? through : later(before.how, through);
    if (before?.how !== strongest) target.set(key, { ...source, how: strongest });
  }
}

/** The sources of a value that is made of others. */
export function merge(all: readonly Sources[], how: Transformation = 'IDENTITY'): Sources {
  const [first] = all;
  if (all.length === 1 && first !== undefined && how === 'IDENTITY') return first;
  const merged = new Map<string, Source>();
  for (const each of all) addSources(merged, each, how);
  return merged.size === 0 ? noSources : merged;
}

export const isSameColumn = (one: string, other: string): boolean =>
  one === other || one.toLowerCase() === other.toLowerCase();

/** Undefined if the relation has no such column, and might have no other ones. */
export function findColumn(relation: Relation, name: string): Sources | undefined {
  return relation.columns.find((column) => isSameColumn(column.name, name))?.sources;
}

/** What a name means among the columns that are not known. */
export function findRest({ rest }: Relation, name: string): Sources | undefined {
  if (rest.length === 0) return undefined;
  return merge(rest.map((each) => ('table' in each ? createSource(each.table, name) : each.sources)));
}

export function createTableRelation(table: Table): Relation {
  if (table.fields === undefined) return { columns: [], rest: [{ table }], rows: noSources };
  const columns = table.fields.map(({ name }) => ({ name, sources: createSource(table, name) }));
  return { columns, rest: [], rows: noSources };
}

/** Renames the first columns, as `AS t (a, b)` does. */
export function renameFirst(relation: Relation, names: readonly string[]): Relation {
  if (names.length === 0) return relation;
  const columns = relation.columns.map(({ name, sources }, index) => ({
    name: names[index] ?? name,
    sources,
  }));
  const added = names.slice(relation.columns.length).map((name) => ({
    name,
    sources: merge(relation.rest.map((each) => ('table' in each ? noSources : each.sources))),
  }));
  return { ...relation, columns: [...columns, ...added] };
}
