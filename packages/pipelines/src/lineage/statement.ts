/** Analyzes one parsed statement. */
import { Analysis } from './analysis.ts';
import { addRestGap, changes } from './changes.ts';
import type { Effect } from './effect.ts';
import {
  type Column,
  findRest,
  isSameColumn,
  noSources,
  type Relation,
  renameFirst,
  type Table,
} from './query/relation.ts';
import { get, isMap, type Json, listOf, mapOf, readIdentifier, readPath, readTag } from './query/tree.ts';
import type { StatementTables } from './tables.ts';

export function analyzeStatement(statement: Json, tables: StatementTables, isByName: boolean): Effect {
  const analysis = new Analysis(tables, isByName, changes);
  const [kind, content] = readTag(statement);
  const analyze = changes[kind] ?? statements[kind];
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
    const relation = analysis.query(content);
    const into = get(get(get(content, 'body'), 'Select'), 'into');
    if (isMap(into))
      makeTable(
        readPath(into.name),
        relation,
        { isTemporary: into.temporary === true, isNew: true },
        analysis,
      );
  },
  CreateTable: analyzeCreateTable,
  CreateView: analyzeCreateView,
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
    if (kind === 'RenameTable')
      renameTable(path, readPath(readTag(get(change, 'table_name'))[1]).at(-1) ?? '', analysis);
    else if (!analysis.tables.isTemporary(path)) {
      // Its columns are asked for after the step.
      analysis.tables.setFields(analysis.tables.get(path).name, undefined);
      analysis.write(path, { columns: [], rows: noSources });
    }
  }
}

/** The new name has the values of the old one. */
function renameTable(path: readonly string[], name: string, analysis: Analysis): void {
  const { tables } = analysis;
  const relation = analysis.getTarget(path);
  if (tables.isTemporary(path)) {
    tables.setTemporary(path, undefined);
    tables.setTemporary([...path.slice(0, -1), name], relation);
    return;
  }
  if (tables.isUnplaced(path)) return;
  const renamedFrom = tables.get(path);
  const target = [...renamedFrom.path.slice(0, -1), name];
  analysis.write(target, { columns: relation.columns, rows: noSources, isReplaced: true, renamedFrom });
  tables.setFields(renamedFrom.name, undefined);
  if (relation.rest.length === 0)
    tables.setFields(
      tables.get(target).name,
      relation.columns.map((column) => ({ name: column.name })),
    );
}
