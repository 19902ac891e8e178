/** The columns of SELECT, with stars expanded as far as columns are known. */
import { readExpression } from './expression.ts';
import { type Column, findRest, isSameColumn, noSources, type Relation, type Rest } from './relation.ts';
import type { Scope } from './scope.ts';
import { get, isList, type Json, listOf, readIdentifier, readPath, readTag, readText } from './tree.ts';

/** Stands in a star for RENAME, which the parser does not read. */
export const renameFunction = 'headgate_rename';

export function analyzeProjection(value: Json | undefined, scope: Scope): Omit<Relation, 'rows'> {
  const columns: Column[] = [];
  const rest: Rest[] = [];
  const add = (added: readonly Column[]) => {
    for (const column of added) {
      columns.push(column);
      scope.addAlias(column);
    }
  };
  for (const item of listOf(value)) {
    const [tag, content] = readTag(item);
    if (tag === 'Wildcard' || tag === 'QualifiedWildcard') {
      const [qualifier, options] = tag === 'Wildcard' ? [undefined, content] : listOf(content);
      const path = qualifier === undefined ? undefined : readPath(get(qualifier ?? null, 'ObjectName'));
      const star = expandStar(scope.getAll(path), options, scope);
      add(star.columns);
      rest.push(...star.rest);
    } else {
      const expression = tag === 'ExprWithAlias' ? get(content, 'expr') : content;
      const many = expandColumns(expression, scope);
      if (many !== undefined) {
        add(many.columns);
        rest.push(...many.rest);
        continue;
      }
      const name = tag === 'ExprWithAlias' ? readIdentifier(get(content, 'alias')) : nameOf(expression);
      add([{ name, sources: readExpression(expression, scope) }]);
    }
  }
  return { columns, rest };
}

/** The name that DuckDB gives to a column without an alias, where it is a plain one. */
function nameOf(expression: Json | undefined): string {
  const [tag, content] = readTag(expression);
  if (tag === 'Identifier') return readIdentifier(content);
  if (tag === 'CompoundIdentifier') return readIdentifier(listOf(content).at(-1));
  if (tag === 'Nested') return nameOf(content);
  if (tag === 'Function' && ['unnest', 'generate_series'].includes(readPath(get(content, 'name')).join('.')))
    return readPath(get(content, 'name')).join('.');
  return '';
}

/** `* EXCLUDE (…) REPLACE (…)` */
function expandStar(all: Relation, options: Json | undefined, scope: Scope): Omit<Relation, 'rows'> {
  const [, excluded] = readTag(get(options, 'opt_exclude'));
  const names = (isList(excluded) ? excluded : [excluded ?? null]).map((each) =>
    isList(each) ? (readPath(each).at(-1) ?? '') : readIdentifier(each),
  );
  let columns = all.columns.filter(({ name }) => !names.some((each) => isSameColumn(each, name)));
  for (const item of listOf(get(get(options, 'opt_replace'), 'items'))) {
    const target = readIdentifier(get(item, 'column_name'));
    const renamed = readRenamed(get(item, 'expr'));
    if (renamed !== undefined) columns = rename(columns, all, renamed, target);
    else {
      const sources = readExpression(get(item, 'expr'), scope);
      const isKnown = columns.some(({ name }) => isSameColumn(name, target));
      columns = columns.map((column) =>
        isSameColumn(column.name, target) ? { ...column, sources } : column,
      );
      if (!isKnown) columns.push({ name: target, sources });
    }
  }
  return { columns, rest: all.rest };
}

function rename(columns: readonly Column[], all: Relation, from: string, to: string): Column[] {
  const isKnown = columns.some(({ name }) => isSameColumn(name, from));
  if (isKnown)
    return columns.map((column) => (isSameColumn(column.name, from) ? { ...column, name: to } : column));
  const sources = findRest(all, from) ?? noSources;
  return [...columns, { name: to, sources }];
}

/** The column of a RENAME. */
function readRenamed(expression: Json | undefined): string | undefined {
  const [tag, content] = readTag(expression);
  if (tag !== 'Function' || readPath(get(content, 'name')).join('.') !== renameFunction) return undefined;
  const [, list] = readTag(get(content, 'args'));
  const [, argument] = readTag(listOf(get(list, 'args'))[0]);
  return readIdentifier(readTag(readTag(argument)[1])[1]);
}

/** An expression with COLUMNS(…) stands for one column for each that it selects. */
function expandColumns(expression: Json | undefined, scope: Scope): Omit<Relation, 'rows'> | undefined {
  const [tag, content] = readTag(expression);
  if (tag !== 'Function') return undefined;
  const name = readPath(get(content, 'name')).join('.').toLowerCase();
  const [, list] = readTag(get(content, 'args'));
  const [, only] = readTag(listOf(get(list, 'args'))[0]);
  const [kind, argument] = readTag(only);
  if (name === 'columns') {
    const all = scope.getAll();
    if (kind === 'Wildcard') return all;
    // A pattern or a lambda: which columns it selects is not computed.
    const pattern = readText(argument) === undefined ? 'the columns' : `the columns "${readText(argument)}"`;
    scope.walk.addGap(`${pattern} that COLUMNS selects are not computed: all are taken`);
    return all;
  }
  const inner = kind === 'Expr' ? expandColumns(argument, scope) : undefined;
  if (inner === undefined) return undefined;
  const columns = inner.columns.map((column) => {
    const bound = createCall(content, { Identifier: { value: column.name } });
    return { name: column.name, sources: readExpression(bound, scope) };
  });
  return { columns, rest: inner.rest };
}

/** The same call with another first argument. */
function createCall(call: Json | undefined, argument: Json): Json {
  const [, list] = readTag(get(call, 'args'));
  const [, ...others] = listOf(get(list, 'args'));
  const args = { List: { args: [{ Unnamed: { Expr: argument } }, ...others] } };
  return { Function: { ...(typeof call === 'object' && call !== null ? call : {}), args } } as Json;
}
