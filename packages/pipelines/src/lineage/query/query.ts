/** Analyzes queries: WITH, SELECT, VALUES, UNION and its like. */
import { readExpression, readWindow } from './expression.ts';
import { addFrom } from './from.ts';
import { analyzeProjection } from './projection.ts';
import {
  addSources,
  type Column,
  emptyRelation,
  isSameColumn,
  merge,
  noSources,
  type Relation,
  renameFirst,
  type Source,
  type Sources,
} from './relation.ts';
import { Scope, type Walk } from './scope.ts';
import { get, isList, type Json, listOf, mapOf, readIdentifier, readNumber, readTag } from './tree.ts';

type Tables = ReadonlyMap<string, Relation>;

/** @param outer the scope around a subquery */
export function analyzeQuery(value: Json | undefined, tables: Tables, walk: Walk, outer?: Scope): Relation {
  const query = mapOf(value);
  const inner = readCommonTables(query.with, tables, walk, outer);
  const { relation, scope } = analyzeBody(query.body, inner, walk, outer);
  const limit = readTag(query.limit_clause)[1] ?? query.fetch;
  if (limit === undefined || limit === null) return relation;
  const rows = new Map<string, Source>(relation.rows);
  const ordered = scope ?? createResultScope(relation, inner, walk, outer);
  const before = new Map(ordered.rows);
  addSources(rows, readOrder(query.order_by, ordered));
  for (const [key, source] of ordered.rows) if (!before.has(key)) rows.set(key, source);
  return { ...relation, rows };
}

/** ORDER BY of a UNION knows only its columns. */
function createResultScope(relation: Relation, tables: Tables, walk: Walk, outer: Scope | undefined): Scope {
  const scope = new Scope(walk, tables, outer);
  scope.add([], relation);
  for (const column of relation.columns) scope.addAlias(column);
  return scope;
}

function readOrder(value: Json | undefined, scope: Scope): Sources {
  const [, terms] = readTag(get(value, 'kind'));
  const list = isList(terms) ? terms : [];
  return merge(list.map((term) => readTerm(get(term, 'expr'), scope)));
}

/** A term of GROUP BY or ORDER BY: a position or an expression. */
function readTerm(value: Json | undefined, scope: Scope): Sources {
  const position = readNumber(value);
  return position === undefined ? readExpression(value, scope) : (scope.getPosition(position) ?? noSources);
}

function readCommonTables(value: Json | undefined, tables: Tables, walk: Walk, outer?: Scope): Tables {
  const list = listOf(get(value, 'cte_tables'));
  if (list.length === 0) return tables;
  const known = new Map(tables);
  const isRecursive = get(value, 'recursive') === true;
  for (const table of list) {
    const alias = get(table, 'alias');
    const name = readIdentifier(get(alias, 'name')).toLowerCase();
    const columns = listOf(get(alias, 'columns')).map((column) => readIdentifier(get(column, 'name')));
    const query = get(table, 'query');
    const analyze = (input: Tables) => renameFirst(analyzeQuery(query, input, walk, outer), columns);
    known.set(name, isRecursive ? findFixpoint(name, known, analyze) : analyze(known));
  }
  return known;
}

/** Rounds until a recursive table has no more sources: one for each column through which a value can go. */
const mostRounds = 12;

function findFixpoint(name: string, known: Tables, analyze: (input: Tables) => Relation): Relation {
  const withName = (relation: Relation) => new Map([...known, [name, relation]]);
  // The first part of the UNION reads nothing of the table itself.
  let relation = analyze(withName({ ...emptyRelation, rest: [{ sources: noSources }] }));
  for (let round = 0; round < mostRounds; round += 1) {
    const next = analyze(withName({ ...relation, rest: [] }));
    const isSame = countSources(next) === countSources(relation);
    relation = next;
    if (isSame) break;
  }
  return relation;
}

const countSources = ({ columns, rows }: Relation) =>
  columns.reduce((sum, { sources }) => sum + weigh(sources), rows.size);
/** A source that is changed counts more. */
const weigh = (sources: Sources) =>
  [...sources.values()].reduce(
    (sum, { how }) => sum + (how === 'IDENTITY' ? 1 : how === 'CHANGED' ? 2 : 3),
    0,
  );

interface Body {
  readonly relation: Relation;
  /** Of a single SELECT: ORDER BY may name what it reads. */
  readonly scope?: Scope;
}

function analyzeBody(value: Json | undefined, tables: Tables, walk: Walk, outer?: Scope): Body {
  const [tag, content] = readTag(value);
  if (tag === 'Select') return analyzeSelect(content, tables, walk, outer);
  if (tag === 'Query') return { relation: analyzeQuery(content, tables, walk, outer) };
  if (tag === 'SetOperation') return { relation: analyzeSetOperation(value, tables, walk, outer) };
  if (tag === 'Values') return { relation: analyzeValues(content, tables, walk, outer) };
  if (tag === 'Table') return { relation: readNamed(content, tables, walk) };
  if (changing.has(tag)) return { relation: walk.analyzeChange(content, tables) };
  if (tag !== '') walk.addGap(`a query of the kind ${tag} is not analyzed`);
  return { relation: emptyRelation };
}

/** A statement that changes rows, in WITH or behind it. */
const changing = new Set(['Insert', 'Update', 'Delete', 'Merge']);

/** `TABLE t` */
function readNamed(value: Json | undefined, tables: Tables, walk: Walk): Relation {
  const path = [get(value, 'schema_name'), get(value, 'table_name')].filter(
    (name) => typeof name === 'string',
  );
  const common = path.length === 1 ? tables.get(String(path[0]).toLowerCase()) : undefined;
  return common ?? walk.findTemporary(path) ?? walk.readTable(path) ?? emptyRelation;
}

function analyzeValues(value: Json | undefined, tables: Tables, walk: Walk, outer?: Scope): Relation {
  const scope = new Scope(walk, tables, outer);
  const columns: Sources[] = [];
  for (const row of listOf(get(value, 'rows')))
    for (const [index, cell] of listOf(get(row, 'content') ?? row).entries()) {
      const found = readExpression(cell, scope);
      columns[index] =
        found.size === 0 ? (columns[index] ?? noSources) : merge([columns[index] ?? noSources, found]);
    }
  return {
    columns: columns.map((sources, index) => ({ name: walk.nameValue(index), sources })),
    rest: [],
    rows: scope.rows,
  };
}

function analyzeSelect(value: Json | undefined, tables: Tables, walk: Walk, outer?: Scope): Body {
  const select = mapOf(value);
  const scope = new Scope(walk, tables, outer);
  for (const item of listOf(select.from)) addFrom(item, scope);
  for (const window of listOf(select.named_window)) readWindow(readTag(listOf(window)[1])[1], scope);
  const isBare = select.flavor === 'FromFirstNoSelect';
  const { columns, rest } = isBare ? scope.getAll() : analyzeProjection(select.projection, scope);
  for (const clause of [select.selection, select.having, select.qualify, select.prewhere])
    scope.addRows(readExpression(clause, scope));
  readGroups(select.group_by, columns, scope);
  const [distinct, keys] = readTag(select.distinct);
  if (distinct === 'Distinct') for (const { sources } of columns) scope.addRows(sources);
  if (distinct === 'On') for (const key of listOf(keys)) scope.addRows(readTerm(key, scope));
  return { relation: { columns, rest, rows: scope.rows }, scope };
}

/** GROUP BY ALL groups by the columns that are not aggregated. */
function readGroups(value: Json | undefined, columns: readonly Column[], scope: Scope): void {
  const [kind, content] = readTag(value);
  if (kind === 'All') {
    for (const { sources } of columns)
      if (![...sources.values()].some(({ how }) => how === 'AGGREGATED')) scope.addRows(sources);
  } else if (kind === 'Expressions')
    for (const term of listOf(listOf(content)[0])) scope.addRows(readTerm(term, scope));
}

/** A long UNION leans to the left: it is read without recursion. */
function analyzeSetOperation(value: Json | undefined, tables: Tables, walk: Walk, outer?: Scope): Relation {
  const operations: Json[] = [];
  let first: Json | undefined = value;
  while (readTag(first)[0] === 'SetOperation') {
    operations.push(readTag(first)[1] ?? null);
    first = get(readTag(first)[1], 'left');
  }
  let relation = analyzeBody(first, tables, walk, outer).relation;
  for (const operation of operations.reverse()) {
    const right = analyzeBody(get(operation, 'right'), tables, walk, outer).relation;
    relation = combine(
      relation,
      right,
      String(get(operation, 'op')),
      String(get(operation, 'set_quantifier')),
    );
  }
  return relation;
}

function combine(left: Relation, right: Relation, operator: string, quantifier: string): Relation {
  const rows = new Map<string, Source>(left.rows);
  addSources(rows, right.rows);
  const isUnion = operator === 'Union';
  if (!isUnion || !quantifier.startsWith('All'))
    for (const { sources } of [...left.columns, ...right.columns]) addSources(rows, sources);
  if (!isUnion) return { ...left, rows };
  const rest = [...left.rest, ...right.rest];
  const columns = quantifier.endsWith('ByName') ? unionByName(left, right) : unionByPosition(left, right);
  return { columns, rest, rows };
}

const unionByPosition = (left: Relation, right: Relation): Column[] =>
  left.columns.map(({ name, sources }, index) => ({
    name,
    sources: merge([sources, right.columns[index]?.sources ?? noSources]),
  }));

function unionByName(left: Relation, right: Relation): Column[] {
  const find = (columns: readonly Column[], name: string) =>
    columns.find((each) => isSameColumn(each.name, name));
  return [
    ...left.columns.map(({ name, sources }) => ({
      name,
      sources: merge([sources, find(right.columns, name)?.sources ?? noSources]),
    })),
    ...right.columns.filter(({ name }) => find(left.columns, name) === undefined),
  ];
}
