/** Analyzes one parsed statement. */
import { isTemporaryPath } from './dataset-name.ts';
import type { Effect, Write } from './effect.ts';
import { readExpression } from './query/expression.ts';
import { addFrom } from './query/from.ts';
import { analyzeQuery } from './query/query.ts';
import {
  addSources,
  type Column,
  findRest,
  isSameColumn,
  merge,
  noSources,
  type Relation,
  renameFirst,
  type Source,
  type Table,
} from './query/relation.ts';
import { Scope, type Walk } from './query/scope.ts';
import { get, isMap, type Json, listOf, mapOf, readIdentifier, readPath, readTag } from './query/tree.ts';
import type { StatementTables } from './tables.ts';

/** A statement in the course of its analysis. */
class Analysis implements Walk {
  readonly tables: StatementTables;
  readonly isByName: boolean;
  readonly reads = new Set<Table>();
  readonly writes: Write[] = [];
  readonly gaps = new Set<string>();

  constructor(tables: StatementTables, isByName: boolean) {
    this.tables = tables;
    this.isByName = isByName;
  }

  addGap(reason: string): void {
    this.gaps.add(reason);
  }

  readTable(path: readonly string[]): Relation | undefined {
    if (this.tables.isSystem(path)) return undefined;
    if (isTemporaryPath(path)) {
      this.addGap(`the temporary table "${path.at(-1)}" was not made by an analyzed statement`);
      return undefined;
    }
    const table = this.tables.get(path);
    this.reads.add(table);
    return this.tables.getRelation(table);
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
    return analyzeQuery(value, new Map(), this);
  }

  /** A table that the statement changes. Its own values count as read only where they are used. */
  getTarget(path: readonly string[]): Relation {
    return this.findTemporary(path) ?? this.tables.getRelation(this.tables.get(path));
  }

  /** Records that a table gets rows, or that a temporary one does. */
  write(path: readonly string[], write: Omit<Write, 'table'>): void {
    if (this.tables.isSystem(path)) return;
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

export function analyzeStatement(statement: Json, tables: StatementTables, isByName: boolean): Effect {
  const analysis = new Analysis(tables, isByName);
  const [kind, content] = readTag(statement);
  const analyze = statements[kind];
  if (analyze !== undefined) analyze(content, analysis);
  else if (!withoutLineage.has(kind)) analysis.addGap(`a statement of the kind ${kind} is not analyzed`);
  const { reads, writes, gaps } = analysis;
  return { reads, writes, gaps: [...gaps] };
}

/** Statements that move no rows. */
const withoutLineage = new Set(
  'Use Set ShowTables ShowColumns ShowVariable ShowVariables ExplainTable Explain Analyze Comment CreateSchema CreateDatabase CreateSequence CreateIndex CreateType CreateMacro CreateFunction Commit Pragma Install Load AttachDuckDBDatabase DetachDuckDBDatabase Deallocate Prepare Vacuum Call Grant Revoke'.split(
    ' ',
  ),
);

const statements: Readonly<Record<string, (content: Json | undefined, analysis: Analysis) => void>> = {
  Query(content, analysis) {
    analysis.query(content);
  },
  Insert: analyzeInsert,
  CreateTable: analyzeCreateTable,
  CreateView: analyzeCreateView,
  Update: analyzeUpdate,
  Delete: analyzeDelete,
  Merge: analyzeMerge,
  Copy: analyzeCopy,
  Truncate(content, analysis) {
    for (const table of listOf(get(content, 'table_names')))
      analysis.write(readPath(get(table, 'name')), { columns: [], rows: noSources, isReplaced: true });
  },
  Drop(content, analysis) {
    const type = get(content, 'object_type');
    if (type === 'Schema') analysis.addGap('the tables that went with a dropped schema are not listed');
    if (type !== 'Table' && type !== 'View') return;
    for (const name of listOf(get(content, 'names')))
      analysis.write(readPath(name), { columns: undefined, rows: noSources, isDropped: true });
  },
  AlterTable: analyzeAlterTable,
};

function analyzeInsert(content: Json | undefined, analysis: Analysis): void {
  const insert = mapOf(content);
  const path = readPath(get(insert.table, 'TableName'));
  const source = insert.source === null ? undefined : analysis.query(insert.source);
  const inputs = listOf(insert.columns).map((name) => readPath(name).at(-1) ?? '');
  const columns = source === undefined ? [] : assignColumns(path, inputs, source, analysis);
  const action = get(get(get(insert.on, 'OnConflict'), 'action'), 'DoUpdate');
  const rows = new Map<string, Source>(source?.rows);
  if (action !== undefined) {
    const scope = new Scope(analysis, new Map());
    scope.add(path, analysis.getTarget(path));
    scope.add(['EXCLUDED'], { columns: columns ?? [], rest: [], rows: noSources });
    const updated = readAssignments(get(action, 'assignments'), scope);
    scope.addRows(readExpression(get(action, 'selection'), scope));
    addSources(rows, scope.rows);
    analysis.write(path, { columns: updated, rows });
  }
  analysis.write(path, { columns, rows });
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

function addRestGap({ rest }: Relation, analysis: Analysis): void {
  for (const each of rest)
    analysis.addGap(
      'table' in each
        ? `the columns of ${each.table.name} are not known, so that those of * are not listed`
        : 'the columns of a function that the statement reads are not known',
    );
}

function analyzeCreateTable(content: Json | undefined, analysis: Analysis): void {
  const create = mapOf(content);
  const path = readPath(create.name);
  const declared = listOf(create.columns).map((column) => readIdentifier(get(column, 'name')));
  const source = isMap(create.query) ? analysis.query(create.query) : undefined;
  const relation = source === undefined ? createPlain(declared) : renameFirst(source, declared);
  if (create.if_not_exists !== true) {
    const isNew = create.or_replace !== true;
    makeTable(path, relation, { isTemporary: create.temporary === true, isNew }, analysis);
  } else if (source !== undefined) {
    // Whether it was there before is not known.
    const columns = nameColumns(relation.columns, analysis.tables.get(path), analysis);
    analysis.write(path, { columns, rows: relation.rows });
  }
}

/** Columns without an alias have the names that the warehouse gave them. */
function nameColumns(columns: readonly Column[], table: Table, analysis: Analysis): readonly Column[] {
  if (columns.every(({ name }) => name !== '')) return columns;
  const fields = analysis.tables.findAfter(table.name, table.path);
  if (fields?.length === columns.length)
    return columns.map(({ name, sources }, index) => ({
      name: name || (fields[index]?.name ?? ''),
      sources,
    }));
  analysis.addGap(`${table.name} has columns without an alias, which are not listed`);
  return columns.filter(({ name }) => name !== '');
}

const createPlain = (names: readonly string[]): Relation => ({
  columns: names.map((name) => ({ name, sources: noSources })),
  rest: [],
  rows: noSources,
});

function makeTable(
  path: readonly string[],
  relation: Relation,
  { isTemporary, isNew }: { isTemporary: boolean; isNew: boolean },
  analysis: Analysis,
): void {
  const isOfSession = isTemporary || (path.length > 1 && analysis.tables.isTemporary(path));
  if (isOfSession) {
    analysis.tables.setTemporary(path, relation);
    return;
  }
  if (relation.rest.length > 0) addRestGap(relation, analysis);
  const { rows } = relation;
  const table = analysis.tables.get(path);
  const columns = nameColumns(relation.columns, table, analysis);
  const isNamed = relation.rest.length === 0 && columns.every(({ name }) => name !== '');
  analysis.tables.setFields(table.name, isNamed ? columns.map(({ name }) => ({ name })) : undefined);
  analysis.write(path, { columns, rows, isReplaced: true, ...(isNew ? { isNew } : {}) });
}

function analyzeCreateView(content: Json | undefined, analysis: Analysis): void {
  const create = mapOf(content);
  const names = listOf(create.columns).map((column) => readIdentifier(get(column, 'name')));
  const relation = renameFirst(analysis.query(create.query), names);
  const isTemporary = create.temporary === true;
  makeTable(readPath(create.name), relation, { isTemporary, isNew: create.or_replace !== true }, analysis);
}

function readAssignments(value: Json | undefined, scope: Scope): Column[] {
  return listOf(value).map((assignment) => {
    const [, name] = readTag(get(assignment, 'target'));
    return { name: readPath(name).at(-1) ?? '', sources: readExpression(get(assignment, 'value'), scope) };
  });
}

function analyzeUpdate(content: Json | undefined, analysis: Analysis): void {
  const update = mapOf(content);
  const { path, scope } = openTarget(get(update.table, 'relation'), analysis);
  const [, from] = readTag(update.from);
  for (const item of listOf(from)) addFrom(item, scope);
  const columns = readAssignments(update.assignments, scope);
  scope.addRows(readExpression(update.selection, scope));
  analysis.write(path, { columns, rows: scope.rows });
}

/** A scope with the table that a statement changes. */
function openTarget(factor: Json | undefined, analysis: Analysis): { path: string[]; scope: Scope } {
  const [, table] = readTag(factor);
  const path = readPath(get(table, 'name'));
  const alias = readIdentifier(get(get(table, 'alias'), 'name'));
  const scope = new Scope(analysis, new Map());
  scope.add(alias === '' ? path : [alias], analysis.getTarget(path));
  return { path, scope };
}

function analyzeDelete(content: Json | undefined, analysis: Analysis): void {
  const [, tables] = readTag(get(content, 'from'));
  const { path, scope } = openTarget(get(listOf(tables)[0], 'relation'), analysis);
  for (const item of listOf(get(content, 'using'))) addFrom(item, scope);
  const selection = get(content, 'selection');
  scope.addRows(readExpression(selection, scope));
  const isAll = selection === undefined || selection === null;
  analysis.write(path, { columns: [], rows: scope.rows, ...(isAll ? { isReplaced: true } : {}) });
}

function analyzeMerge(content: Json | undefined, analysis: Analysis): void {
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
  analysis.write(path, { columns: mergeColumns(columns), rows: scope.rows });
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

function analyzeCopy(content: Json | undefined, analysis: Analysis): void {
  const [target, place] = readTag(get(content, 'target'));
  const file = get(place, 'filename');
  if (target !== 'File' || typeof file !== 'string') return;
  const [kind, source] = readTag(get(content, 'source'));
  const path = readPath(get(source, 'table_name'));
  const named = listOf(get(source, 'columns')).map(readIdentifier);
  if (get(content, 'to') !== true) {
    const read = analysis.readFile(file);
    const names = named.length > 0 ? named : analysis.getTarget(path).columns.map(({ name }) => name);
    const columns = names.map((name) => ({ name, sources: findRest(read, name) ?? noSources }));
    analysis.write(path, { columns, rows: noSources });
    return;
  }
  const whole =
    kind === 'Query' ? analysis.query(source) : (analysis.findTemporary(path) ?? analysis.readTable(path));
  if (whole === undefined) return;
  if (whole.rest.length > 0) addRestGap(whole, analysis);
  const columns = whole.columns.filter(
    ({ name }) => named.length === 0 || named.some((each) => isSameColumn(each, name)),
  );
  analysis.writes.push({ table: analysis.tables.getFile(file), columns, rows: whole.rows, isReplaced: true });
}

function analyzeAlterTable(content: Json | undefined, analysis: Analysis): void {
  const path = readPath(get(content, 'name'));
  for (const operation of listOf(get(content, 'operations'))) {
    const [kind, change] = readTag(operation);
    if (kind === 'RenameTable') renameTable(path, readPath(readTag(get(change, 'table_name'))[1]), analysis);
    else if (!analysis.tables.isTemporary(path)) {
      // Its columns are asked for after the step.
      analysis.tables.setFields(analysis.tables.get(path).name, undefined);
      analysis.write(path, { columns: [], rows: noSources });
    }
  }
}

/** The new name has the values of the old one. */
function renameTable(path: readonly string[], name: readonly string[], analysis: Analysis): void {
  const relation = analysis.getTarget(path);
  const target = [...path.slice(0, -1), name.at(-1) ?? ''];
  if (analysis.tables.isTemporary(path)) {
    analysis.tables.setTemporary(path, undefined);
    analysis.tables.setTemporary(target, relation);
    return;
  }
  analysis.reads.add(analysis.tables.get(path));
  analysis.write(target, { columns: relation.columns, rows: noSources, isReplaced: true });
  analysis.write(path, { columns: undefined, rows: noSources, isDropped: true });
}
