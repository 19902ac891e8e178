/** Analyzes PIVOT and UNPIVOT in FROM. */
import { readExpression } from './expression.ts';
import {
  addSources,
  type Column,
  isSameColumn,
  merge,
  noSources,
  type Relation,
  type Source,
} from './relation.ts';
import type { Scope } from './scope.ts';
import {
  get,
  isList,
  type Json,
  listOf,
  mapOf,
  readIdentifier,
  readPath,
  readTag,
  readText,
} from './tree.ts';

/** Columns that are neither pivoted nor aggregated group the rows. */
export function analyzePivot(content: Json | undefined, inner: Scope, scope: Scope): Relation {
  const pivot = mapOf(content);
  const all = inner.getAll();
  const used = new Set<string>();
  const pivoted = listOf(pivot.value_column).map((each) => {
    noteNames(each, used);
    return readExpression(each, inner);
  });
  const aggregates = listOf(pivot.aggregate_functions).map((each) => {
    noteNames(get(each, 'expr'), used);
    return { name: readIdentifier(get(each, 'alias')), sources: readExpression(get(each, 'expr'), inner) };
  });
  const [kind, values] = readTag(pivot.value_source);
  if (kind !== 'List') scope.walk.addGap('the columns of a PIVOT without a list of values are not known');
  const groups = all.columns.filter(({ name }) => !used.has(name.toLowerCase()));
  const columns: Column[] = [...groups];
  for (const value of listOf(values)) {
    const label = readIdentifier(get(value, 'alias')) || nameValue(get(value, 'expr'));
    for (const { name, sources } of aggregates)
      columns.push({ name: aggregates.length === 1 && name === '' ? label : `${label}_${name}`, sources });
  }
  const rows = new Map<string, Source>(inner.rows);
  for (const sources of [...pivoted, ...groups.map((group) => group.sources)]) addSources(rows, sources);
  return { columns, rest: all.rest, rows };
}

function nameValue(value: Json | undefined): string {
  const text = readText(value);
  if (text !== undefined) return text;
  const [number] = listOf(get(get(get(value, 'Value'), 'value'), 'Number'));
  if (typeof number === 'string') return number;
  const [tag, content] = readTag(value);
  return tag === 'Identifier' ? readIdentifier(content) : '';
}

/** The names of columns in an expression. */
function noteNames(value: Json | undefined, names: Set<string>): void {
  const [tag, content] = readTag(value);
  if (tag === 'Identifier') names.add(readIdentifier(content).toLowerCase());
  else if (tag === 'CompoundIdentifier') names.add(readIdentifier(listOf(content).at(-1)).toLowerCase());
  else if (isList(value)) for (const each of value) noteNames(each, names);
  else if (tag !== '')
    for (const [key, part] of Object.entries(mapOf(value))) if (key !== 'name') noteNames(part, names);
}

export function analyzeUnpivot(content: Json | undefined, inner: Scope): Relation {
  const unpivot = mapOf(content);
  const all = inner.getAll();
  const narrowed = listOf(unpivot.columns).flatMap((each) => listNames(get(each, 'expr')));
  const values = merge(narrowed.map((name) => inner.find([name]) ?? noSources));
  const names = readTag(unpivot.value)[0] === 'Tuple' ? listOf(readTag(unpivot.value)[1]) : [unpivot.value];
  const columns = [
    ...all.columns.filter(({ name }) => !narrowed.some((each) => isSameColumn(each, name))),
    { name: readIdentifier(unpivot.name), sources: noSources },
    ...names.map((name) => ({ name: readIdentifier(readTag(name)[1]), sources: values })),
  ];
  const rows = new Map<string, Source>(inner.rows);
  // Cells without a value are left out.
  if (unpivot.null_inclusion !== 'IncludeNulls') addSources(rows, values);
  return { columns, rest: all.rest, rows };
}

function listNames(value: Json | undefined): string[] {
  const [tag, content] = readTag(value);
  if (tag === 'Identifier') return [readIdentifier(content)];
  if (tag === 'Tuple') return listOf(content).flatMap(listNames);
  if (tag === 'CompoundIdentifier') return readPath(content).slice(-1);
  return [];
}
