/** Adds what stands in FROM to a scope: tables, subqueries, functions, joins, PIVOT and UNPIVOT. */
import { readExpression } from './expression.ts';
import { analyzePivot, analyzeUnpivot } from './pivot.ts';
import {
  emptyRelation,
  findRest,
  isSameColumn,
  merge,
  noSources,
  type Relation,
  renameFirst,
  type Sources,
} from './relation.ts';
import { Scope } from './scope.ts';
import { get, isList, type Json, listOf, readIdentifier, readPath, readTag, readText } from './tree.ts';

/** `relation JOIN relation …` */
export function addFrom(item: Json | undefined, scope: Scope): void {
  addFactor(get(item, 'relation'), scope);
  for (const join of listOf(get(item, 'joins'))) addJoin(join, scope);
}

function addJoin(join: Json, scope: Scope): void {
  const size = scope.size;
  addFactor(get(join, 'relation'), scope);
  const [kind, content] = readTag(get(join, 'join_operator'));
  // `ASOF JOIN` has its condition beside another one.
  const constraint = get(content, 'constraint') ?? content;
  if (get(content, 'match_condition') !== undefined)
    scope.addRows(readExpression(get(content, 'match_condition'), scope));
  const [how, condition] = readTag(constraint);
  if (how === 'On') scope.addRows(readExpression(condition, scope));
  const names =
    how === 'Using'
      ? listOf(condition).map((name) => readPath(name).at(-1) ?? '')
      : how === 'Natural'
        ? scope.listCommon(size)
        : [];
  const side = kind.startsWith('Full') ? 'full' : kind.startsWith('Right') ? 'right' : 'left';
  if (names.length > 0) scope.mergeColumns(names, size, side);
  if (/Semi|Anti/.test(kind)) scope.cut(size);
}

function addFactor(factor: Json | undefined, scope: Scope): void {
  const [kind, content] = readTag(factor);
  const alias = readAlias(get(content, 'alias'));
  const read = factors[kind];
  if (read === undefined) {
    scope.walk.addGap(`a relation of the kind ${kind} in FROM is not analyzed`);
    scope.add([alias.name], emptyRelation);
    return;
  }
  if (kind === 'NestedJoin' && alias.name === '') {
    addFrom(get(content, 'table_with_joins'), scope);
    return;
  }
  const { path, relation } = read(content, scope);
  const named = renameFirst(relation, alias.columns);
  scope.add(alias.name === '' ? path : [alias.name], named);
}

function readAlias(alias: Json | undefined): { name: string; columns: string[] } {
  return {
    name: readIdentifier(get(alias, 'name')),
    columns: listOf(get(alias, 'columns')).map((column) => readIdentifier(get(column, 'name'))),
  };
}

interface Factor {
  /** Its name if it has no alias. */
  readonly path: readonly string[];
  readonly relation: Relation;
}

const factors: Readonly<Record<string, (content: Json | undefined, scope: Scope) => Factor>> = {
  Table: readTable,
  Derived: (content, scope) => ({
    path: [],
    relation: scope.analyzeQuery(get(content, 'subquery')),
  }),
  NestedJoin(content, scope) {
    const inner = new Scope(scope.walk, scope.tables, scope);
    addFrom(get(content, 'table_with_joins'), inner);
    return { path: [], relation: { ...inner.getAll(), rows: inner.rows } };
  },
  Function: (content, scope) =>
    readTableFunction(readPath(get(content, 'name')), get(content, 'args'), scope),
  TableFunction(content, scope) {
    const [tag, call] = readTag(get(content, 'expr'));
    const [, list] = readTag(get(call, 'args'));
    return tag === 'Function'
      ? readTableFunction(readPath(get(call, 'name')), get(list, 'args'), scope)
      : { path: [], relation: createOpen(readExpression(get(content, 'expr'), scope)) };
  },
  UNNEST(content, scope) {
    const sources = merge(
      listOf(get(content, 'array_exprs')).map((each) => readExpression(each, scope)),
      'CHANGED',
    );
    return { path: ['unnest'], relation: createUnnested(sources) };
  },
  Pivot(content, scope) {
    return { path: [], relation: analyzePivot(content, readInner(get(content, 'table'), scope), scope) };
  },
  Unpivot(content, scope) {
    return { path: [], relation: analyzeUnpivot(content, readInner(get(content, 'table'), scope)) };
  },
};

/** A scope of its own, with the relation in it. */
function readInner(factor: Json | undefined, scope: Scope): Scope {
  const inner = new Scope(scope.walk, scope.tables, scope);
  addFactor(factor, inner);
  return inner;
}

function readTable(content: Json | undefined, scope: Scope): Factor {
  const path = readPath(get(content, 'name'));
  const args = get(content, 'args');
  if (args !== undefined && args !== null)
    return readTableFunction(path, isList(args) ? args : get(args, 'args'), scope);
  const [name = ''] = path;
  const common = path.length === 1 ? scope.tables.get(name.toLowerCase()) : undefined;
  if (common !== undefined) return { path, relation: common };
  if (path.length === 1 && /[/.]/.test(name) && isFileName(name))
    return { path, relation: scope.walk.readFile(name) };
  const relation = scope.walk.findTemporary(path) ?? scope.walk.readTable(path) ?? createOpen(noSources);
  return { path, relation };
}

const isFileName = (name: string) => /\.(?:csv|tsv|json|jsonl|ndjson|parquet)(?:\.gz|\.zst)?$/i.test(name);

const fileReaders = new Set(
  'read_csv read_csv_auto read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects read_parquet parquet_scan read_text read_blob sniff_csv'.split(
    ' ',
  ),
);
const counters = new Set(['generate_series', 'range']);

function readTableFunction(path: readonly string[], args: Json | undefined, scope: Scope): Factor {
  const name = (path.at(-1) ?? '').toLowerCase();
  const list = listOf(args);
  if (fileReaders.has(name)) return { path: [name], relation: readFiles(list, scope) };
  const sources = merge(
    list.map((argument) => {
      const [kind, content] = readTag(argument);
      const [tag, expression] = readTag(kind === 'Unnamed' ? content : get(content, 'arg'));
      return tag === 'Expr' ? readExpression(expression, scope) : noSources;
    }),
    'CHANGED',
  );
  if (name === 'unnest') return { path: [name], relation: createUnnested(sources) };
  if (counters.has(name)) {
    const columns = [{ name, sources }];
    return { path: [name], relation: { columns, rest: [], rows: sources } };
  }
  return { path: [name], relation: createOpen(sources) };
}

/** The first argument is a file, or a list of files. */
function readFiles(args: readonly Json[], scope: Scope): Relation {
  const [, first] = readTag(args[0]);
  const [, expression] = readTag(first);
  const [, content] = readTag(expression);
  const listed = listOf(get(content, 'elem'));
  const names = (listed.length === 0 ? [expression ?? null] : listed).map(readText);
  const relations = names.map((name) => (name === undefined ? undefined : scope.walk.readFile(name)));
  if (relations.includes(undefined))
    scope.walk.addGap('the name of a file that the statement reads is calculated, so that it is not known');
  const known = relations.filter((each) => each !== undefined);
  const [only] = known;
  if (known.length === 1 && only !== undefined) return withDeclaredColumns(only, args);
  return { columns: [], rest: known.flatMap(({ rest }) => rest), rows: noSources };
}

/** `columns = {'a': 'INTEGER', …}` names all columns of a file. */
function withDeclaredColumns(file: Relation, args: readonly Json[]): Relation {
  const [rest] = file.rest;
  for (const argument of args) {
    const [kind, content] = readTag(argument);
    if (kind !== 'Named' || !isSameColumn(readIdentifier(get(content, 'name')), 'columns')) continue;
    const [tag, members] = readTag(readTag(get(content, 'arg'))[1]);
    if (tag !== 'Dictionary' || rest === undefined || !('table' in rest)) continue;
    const names = listOf(members).map((member) => readIdentifier(get(member, 'key')));
    const columns = names.map((name) => ({ name, sources: createFieldOf(file, name) }));
    return { columns, rest: [], rows: noSources };
  }
  return file;
}

const createFieldOf = (file: Relation, name: string): Sources => findRest(file, name) ?? noSources;

/** Some column for each name that is asked for. */
const createOpen = (sources: Sources): Relation => ({ columns: [], rest: [{ sources }], rows: sources });

/** How many rows there are follows from the list. Its members may become columns. */
const createUnnested = (sources: Sources): Relation => ({
  columns: [{ name: 'unnest', sources }],
  rest: [{ sources }],
  rows: sources,
});
