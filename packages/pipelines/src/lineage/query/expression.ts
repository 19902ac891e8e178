/** The sources of an expression. What a window, a filter or a subquery decides goes to the rows of the scope. */
import { isAggregate } from './aggregates.ts';
import { merge, noSources, type Sources } from './relation.ts';
import type { Scope } from './scope.ts';
import { get, isList, isMap, type Json, listOf, mapOf, readIdentifier, readPath, readTag } from './tree.ts';

/** Members that hold names and types, and not expressions. */
const namesOnly = new Set(
  'data_type name unit op collation time_zone_name key field leading_field null_treatment trim_where kind'.split(
    ' ',
  ),
);

export function readExpression(value: Json | undefined, scope: Scope): Sources {
  const [tag, content] = readTag(value);
  const read = readers[tag];
  return read === undefined ? readParts(value, scope) : read(content, scope);
}

const readers: Readonly<Record<string, (content: Json | undefined, scope: Scope) => Sources>> = {
  Identifier: (content, scope) => findName([readIdentifier(content)], scope),
  CompoundIdentifier: (content, scope) => findName(listOf(content).map(readIdentifier), scope),
  Nested: readExpression,
  Value: () => noSources,
  TypedString: () => noSources,
  Function: readFunction,
  Subquery: (content, scope) => readScalar(content, scope),
  Exists: (content, scope) => decide(get(content, 'subquery'), scope),
  InSubquery(content, scope) {
    const tested = readExpression(get(content, 'expr'), scope);
    return merge([tested, readValues(get(content, 'subquery'), scope)], 'CHANGED');
  },
  Lambda(content, scope) {
    const [, params] = readTag(get(content, 'params'));
    const names = (isList(params) ? params : [params ?? null]).map((each) =>
      readIdentifier(get(each, 'name') ?? each),
    );
    return merge([readExpression(get(content, 'body'), scope.bind(names))], 'CHANGED');
  },
  CompoundFieldAccess(content, scope) {
    const parts = [readExpression(get(content, 'root'), scope)];
    for (const access of listOf(get(content, 'access_chain'))) {
      const [tag, inside] = readTag(access);
      if (tag === 'Subscript') parts.push(readParts(inside, scope));
    }
    return merge(parts, 'CHANGED');
  },
  JsonAccess: (content, scope) => merge([readExpression(get(content, 'value'), scope)], 'CHANGED'),
  Interval: (content, scope) => merge([readExpression(get(content, 'value'), scope)], 'CHANGED'),
  Dictionary: (content, scope) =>
    merge(
      listOf(content).map((each) => readExpression(get(each, 'value'), scope)),
      'CHANGED',
    ),
  AliasedExpr: (content, scope) => readExpression(get(content, 'expr'), scope),
  Wildcard: (_, scope) => readAllColumns(scope),
  QualifiedWildcard: (content, scope) =>
    readAllColumns(scope, readPath(get(listOf(content)[0], 'ObjectName'))),
};

function findName(path: readonly string[], scope: Scope): Sources {
  const found = scope.find(path);
  // A word without parentheses may also be a function.
  if (found === undefined && !niladic.has(path.join('.').toLowerCase()))
    scope.walk.addGap(`the column "${path.join('.')}" was not found in what the statement reads`);
  return found ?? noSources;
}

const niladic = new Set(
  'current_date current_time current_timestamp localtime localtimestamp current_user current_schema current_catalog user session_user default rowid'.split(
    ' ',
  ),
);

function readAllColumns(scope: Scope, path?: readonly string[]): Sources {
  const { columns, rest } = scope.getAll(path);
  return merge(
    [
      ...columns.map(({ sources }) => sources),
      ...rest.flatMap((each) => ('sources' in each ? [each.sources] : [])),
    ],
    'CHANGED',
  );
}

/** All sources in a part of the tree: of any expression that computes a value of its parts. */
function readParts(value: Json | undefined, scope: Scope): Sources {
  if (isList(value))
    return merge(
      value.map((each) => readOne(each, scope)),
      'CHANGED',
    );
  if (!isMap(value)) return noSources;
  const parts: Sources[] = [];
  for (const [name, part] of Object.entries(value)) {
    if (part === null || typeof part !== 'object' || namesOnly.has(name)) continue;
    parts.push(
      readers[name] === undefined ? readParts(part, scope) : readExpression({ [name]: part }, scope),
    );
  }
  return merge(parts, 'CHANGED');
}

const readOne = (value: Json, scope: Scope): Sources =>
  isMap(value) ? readExpression(value, scope) : readParts(value, scope);

function readFunction(content: Json | undefined, scope: Scope): Sources {
  const name = readPath(get(content, 'name')).at(-1) ?? '';
  const call = mapOf(content);
  const [, list] = readTag(call.args);
  const isCount = name.toLowerCase() === 'count';
  const listed = listOf(get(list, 'args'));
  const parts = listed.map((argument) => readArgument(argument, isCount, scope));
  // A function over a query, such as `array(SELECT …)`.
  if (get(list, 'body') !== undefined) parts.push(readValues(list, scope));
  for (const clause of listOf(get(list, 'clauses'))) scope.addRows(readParts(clause, scope));
  scope.addRows(readExpression(call.filter ?? null, scope));
  scope.addRows(readParts(call.within_group ?? null, scope));
  const [kind, window] = readTag(call.over);
  if (kind === 'WindowSpec') readWindow(window, scope);
  if (isAggregate(name)) {
    if (/^(?:percentile|mode|quantile)/i.test(name)) parts.push(readParts(call.within_group ?? null, scope));
    return merge(parts, 'AGGREGATED');
  }
  // It makes a row of each element.
  const sources = merge(parts, 'CHANGED');
  if (name.toLowerCase() === 'unnest') scope.addRows(sources);
  return sources;
}

function readArgument(argument: Json, isCount: boolean, scope: Scope): Sources {
  const [kind, content] = readTag(argument);
  const value = kind === 'Unnamed' ? content : get(content, 'arg');
  const [tag, expression] = readTag(value);
  if (tag === 'Expr') return readExpression(expression, scope);
  // `count(*)` counts rows, of whatever columns.
  return isCount ? noSources : readExpression(value, scope);
}

/** What a window is divided and ordered by. */
export function readWindow(window: Json | undefined, scope: Scope): void {
  scope.addRows(readParts(get(window, 'partition_by'), scope));
  for (const term of listOf(get(window, 'order_by'))) scope.addRows(readExpression(get(term, 'expr'), scope));
}

/** A subquery as a value: that of its first column. */
function readScalar(query: Json | undefined, scope: Scope): Sources {
  const { columns, rows, rest } = scope.analyzeQuery(query);
  scope.addRows(rows);
  const open = rest.flatMap((each) => ('sources' in each ? [each.sources] : []));
  return merge([...columns.slice(0, 1).map(({ sources }) => sources), ...open]);
}

/** All values of a subquery. */
function readValues(query: Json | undefined, scope: Scope): Sources {
  const { columns, rows } = scope.analyzeQuery(query);
  scope.addRows(rows);
  return merge(
    columns.map(({ sources }) => sources),
    'CHANGED',
  );
}

/** Whether a subquery has rows: what decides them decides the rows around it, too. */
function decide(query: Json | undefined, scope: Scope): Sources {
  scope.addRows(scope.analyzeQuery(query).rows);
  return noSources;
}
