/** Statements that change the rows of a table. They give the relation of RETURNING. */
import type { Analysis } from './analysis.ts';
import { readExpression } from './query/expression.ts';
import { addFrom } from './query/from.ts';
import { analyzeProjection } from './query/projection.ts';
import {
  addSources,
  type Column,
  emptyRelation,
  isSameColumn,
  merge,
  noSources,
  type Relation,
  type Source,
} from './query/relation.ts';
import { Scope } from './query/scope.ts';
import { get, type Json, listOf, mapOf, readIdentifier, readPath, readTag } from './query/tree.ts';

export const changes: Readonly<Record<string, (content: Json | undefined, analysis: Analysis) => Relation>> =
  {
    Insert: analyzeInsert,
    Update: analyzeUpdate,
    Delete: analyzeDelete,
    Merge: analyzeMerge,
  };

interface Changed {
  readonly scope: Scope;
  readonly path: readonly string[];
  /** Those that the statement gave a value. */
  readonly columns: readonly Column[];
}

function readReturned(
  value: Json | undefined,
  { scope, path, columns }: Changed,
  analysis: Analysis,
): Relation {
  if (listOf(value).length === 0) return emptyRelation;
  const target = analysis.getTarget(path);
  const after = target.columns.map(
    (column) => columns.find(({ name }) => isSameColumn(name, column.name)) ?? column,
  );
  const returned = new Scope(analysis, analysis.common, scope);
  returned.add(path, { ...target, columns: after.length > 0 ? after : columns });
  return { ...analyzeProjection(value, returned), rows: scope.rows };
}

function analyzeInsert(content: Json | undefined, analysis: Analysis): Relation {
  const insert = mapOf(content);
  const path = readPath(get(insert.table, 'TableName'));
  const source = insert.source === null ? undefined : analysis.query(insert.source);
  const names = listOf(insert.columns).map((name) => readPath(name).at(-1) ?? '');
  const columns = source === undefined ? [] : assignColumns(path, names, source, analysis);
  const action = get(get(get(insert.on, 'OnConflict'), 'action'), 'DoUpdate');
  const rows = new Map<string, Source>(source?.rows);
  const scope = new Scope(analysis, analysis.common);
  if (action !== undefined) {
    const alias = readIdentifier(get(insert.table_alias, 'alias') ?? insert.table_alias);
    scope.add(alias === '' ? path : [alias], analysis.getTarget(path));
    scope.add(['EXCLUDED'], { columns: columns ?? [], rest: [], rows: noSources });
    const updated = readAssignments(get(action, 'assignments'), scope);
    scope.addRows(readExpression(get(action, 'selection'), scope));
    addSources(rows, scope.rows);
    analysis.write(path, { columns: updated, rows });
  }
  scope.addRows(rows);
  analysis.write(path, { columns, rows });
  return readReturned(insert.returning, { scope, path, columns: columns ?? [] }, analysis);
}

/** The columns of a target that the columns of a query go to. */
function assignColumns(
  path: readonly string[],
  inputs: readonly string[],
  source: Relation,
  analysis: Analysis,
): Column[] | undefined {
  if (source.rest.length > 0) addRestGap(source, analysis);
  if (analysis.isByName) return [...source.columns];
  const target = inputs.length > 0 ? inputs : analysis.getTarget(path).columns.map(({ name }) => name);
  if (target.length === 0) {
    if (!analysis.tables.isTemporary(path))
      analysis.addGap(`the columns of ${analysis.tables.get(path).name} are not known`);
    return undefined;
  }
  // Where some columns are not known, neither are the places of those after them.
  if (source.rest.length > 0) return undefined;
  return source.columns
    .slice(0, target.length)
    .map(({ sources }, index) => ({ name: target[index] ?? '', sources }));
}

export function addRestGap({ rest }: Relation, analysis: Analysis): void {
  for (const each of rest)
    analysis.addGap(
      'table' in each
        ? `the columns of ${each.table.name} are not known, so that those of * are not listed`
        : 'the columns of a function that the statement reads are not known',
    );
}

/** `(a, b) = (SELECT c, d …)` gives each name the column of its place. */
function readAssignments(value: Json | undefined, scope: Scope): Column[] {
  return listOf(value).flatMap((assignment): Column[] => {
    const [kind, target] = readTag(get(assignment, 'target'));
    const assigned = get(assignment, 'value');
    if (kind !== 'Tuple')
      return [{ name: readPath(target).at(-1) ?? '', sources: readExpression(assigned, scope) }];
    const names = listOf(target).map((each) => readPath(each).at(-1) ?? '');
    const [form, content] = readTag(assigned);
    if (form !== 'Subquery') {
      const values = listOf(form === 'Tuple' ? content : undefined);
      return names.map((name, index) => ({
        name,
        sources: readExpression(values.length === names.length ? values[index] : assigned, scope),
      }));
    }
    const { columns, rows } = scope.analyzeQuery(content);
    scope.addRows(rows);
    return names.map((name, index) => ({ name, sources: columns[index]?.sources ?? noSources }));
  });
}

function analyzeUpdate(content: Json | undefined, analysis: Analysis): Relation {
  const update = mapOf(content);
  const { path, scope } = openTarget(get(update.table, 'relation'), analysis);
  const [, from] = readTag(update.from);
  for (const item of listOf(from)) addFrom(item, scope);
  const columns = readAssignments(update.assignments, scope);
  scope.addRows(readExpression(update.selection, scope));
  analysis.write(path, { columns, rows: scope.rows });
  return readReturned(update.returning, { scope, path, columns }, analysis);
}

/** A scope with the table that a statement changes. */
function openTarget(factor: Json | undefined, analysis: Analysis): { path: string[]; scope: Scope } {
  const [, table] = readTag(factor);
  const path = readPath(get(table, 'name'));
  const alias = readIdentifier(get(get(table, 'alias'), 'name'));
  const scope = new Scope(analysis, analysis.common);
  scope.add(alias === '' ? path : [alias], analysis.getTarget(path));
  return { path, scope };
}

function analyzeDelete(content: Json | undefined, analysis: Analysis): Relation {
  const [, tables] = readTag(get(content, 'from'));
  const { path, scope } = openTarget(get(listOf(tables)[0], 'relation'), analysis);
  for (const item of listOf(get(content, 'using'))) addFrom(item, scope);
  const selection = get(content, 'selection');
  scope.addRows(readExpression(selection, scope));
  const isAll = selection === undefined || selection === null;
  analysis.write(path, { columns: [], rows: scope.rows, ...(isAll ? { isReplaced: true } : {}) });
  return readReturned(get(content, 'returning'), { scope, path, columns: [] }, analysis);
}

function analyzeMerge(content: Json | undefined, analysis: Analysis): Relation {
  const { path, scope } = openTarget(get(content, 'table'), analysis);
  addFrom({ relation: get(content, 'source') ?? null, joins: [] }, scope);
  scope.addRows(readExpression(get(content, 'on'), scope));
  const columns: Column[] = [];
  for (const clause of listOf(get(content, 'clauses'))) {
    scope.addRows(readExpression(get(clause, 'predicate'), scope));
    const [kind, action] = readTag(get(clause, 'action'));
    if (kind === 'Update') columns.push(...readAssignments(get(action, 'assignments'), scope));
    else if (kind === 'Insert') columns.push(...readMergeInsert(action, path, scope, analysis));
  }
  const merged = mergeColumns(columns);
  analysis.write(path, { columns: merged, rows: scope.rows });
  return readReturned(get(content, 'returning'), { scope, path, columns: merged }, analysis);
}

function readMergeInsert(
  action: Json | undefined,
  path: readonly string[],
  scope: Scope,
  analysis: Analysis,
): Column[] {
  const inputs = listOf(get(action, 'columns')).map((name) => readPath(name).at(-1) ?? '');
  const target = inputs.length > 0 ? inputs : analysis.getTarget(path).columns.map(({ name }) => name);
  const [kind, values] = readTag(get(action, 'kind'));
  if (kind !== 'Values') {
    analysis.addGap(`a MERGE that inserts by ${kind} is not analyzed by columns`);
    return [];
  }
  const [row] = listOf(get(values, 'rows'));
  return listOf(get(row, 'content') ?? row).map((cell, index) => ({
    name: target[index] ?? '',
    sources: readExpression(cell, scope),
  }));
}

/** One column for each name. */
export function mergeColumns(columns: readonly Column[]): Column[] {
  const merged = new Map<string, Column>();
  for (const column of columns) {
    const key = column.name.toLowerCase();
    const before = merged.get(key);
    merged.set(
      key,
      before ? { name: before.name, sources: merge([before.sources, column.sources]) } : column,
    );
  }
  return [...merged.values()];
}
