/**
 * The families of the types of columns, as far as the pipeline shows them: those of a fixed flow and of conversions,
 * through the components that keep columns. A column of a table keeps its place, because a create-table elsewhere in
 * the project may know its type.
 */

import type { ReviewedPipeline } from './reviewed-pipeline.ts';
import { getMap, listNamed, listRows, type ReviewedComponent, readLiteral } from './reviewed-pipeline.ts';
import { isName, isSymbol, isWord, readTokens } from './sql-statements.ts';

export type TypeFamily = 'text' | 'number' | 'date' | 'boolean';
export type ColumnSource =
  | { readonly family: TypeFamily }
  | { readonly table: string; readonly column: string };

/** Columns by their name in lower case. */
type Columns = ReadonlyMap<string, ColumnSource>;

const families: readonly (readonly [RegExp, TypeFamily])[] = [
  [/^(?:n?varchar2?|n?char|character|text|string)/i, 'text'],
  [/^(?:number|numeric|decimal|int|integer|bigint|smallint|tinyint|float|double|real|hugeint)/i, 'number'],
  [/^(?:date|datetime|timestamp)/i, 'date'],
  [/^bool/i, 'boolean'],
];

export function readFamily(type: string): TypeFamily | undefined {
  return families.find(([pattern]) => pattern.test(type.trim()))?.[1];
}

/** Components behind a column that are followed. */
const depthLimit = 50;

export function createColumnReader({ components }: ReviewedPipeline): (component: string) => Columns {
  const byName = new Map(components.map((each) => [each.name, each]));
  const known = new Map<string, Columns>();
  const read = (name: string, depth: number): Columns => {
    const found = known.get(name);
    const component = byName.get(name);
    if (found !== undefined || component === undefined || depth > depthLimit) return found ?? new Map();
    known.set(name, new Map());
    const columns = readColumns(component, (source) => read(source, depth + 1));
    known.set(name, columns);
    return columns;
  };
  return (name) => read(name, 0);
}

function readColumns(component: ReviewedComponent, read: (source: string) => Columns): Columns {
  const { type, parameters } = component;
  const sources = 'sources' in component.component ? component.component.sources : [];
  const first = () => read(sources[0] ?? '');
  switch (type) {
    case 'fixed-flow':
      return readTyped(parameters.columns);
    case 'table-input':
      return readTable(component);
    case 'filter':
    case 'distinct':
    case 'order':
    case 'limit':
      return first();
    case 'convert-type':
      return new Map([...first(), ...readTyped(parameters.conversions)]);
    case 'calculator': {
      const columns = new Map(/^yes$/i.test(String(parameters.includeInputColumns ?? 'Yes')) ? first() : []);
      for (const [sql = '', name = ''] of listRows(parameters.calculations)) {
        const family = readCast(sql);
        if (family === undefined) columns.delete(name.toLowerCase());
        else columns.set(name.toLowerCase(), { family });
      }
      return columns;
    }
    case 'rename':
      return new Map(
        listRows(parameters.columnMapping).flatMap(([column = '', name = '']) => {
          const source = first().get(column.toLowerCase());
          return source === undefined ? [] : [[(name || column).toLowerCase(), source] as const];
        }),
      );
    default:
      return new Map();
  }
}

function readTyped(rows: Parameters<typeof listRows>[0]): Map<string, ColumnSource> {
  return new Map(
    listRows(rows).flatMap(([name = '', type = '']) => {
      const family = readFamily(type);
      return family === undefined ? [] : [[name.toLowerCase(), { family }] as const];
    }),
  );
}

function readTable({ parameters }: ReviewedComponent): Columns {
  const table = createTableKey(getMap(parameters));
  if (table === undefined) return new Map();
  return new Map(
    listNamed(parameters.columnNames).map((column) => {
      const key = column.toLowerCase();
      return [key, { table, column: key }] as const;
    }),
  );
}

/** Identifies a table; undefined if its name has an expression. */
export function createTableKey(
  parameters: ReturnType<typeof getMap>,
  name = parameters.targetTable ?? parameters.table,
): string | undefined {
  const table = readLiteral(name);
  if (table === undefined) return undefined;
  const place = [parameters.database, parameters.schema].map((each) => {
    if (typeof each !== 'string' || each.trim() === '' || each.startsWith('[')) return '';
    return each.trim().toLowerCase();
  });
  // `schema.table` in one text is one name for the warehouse, and is taken apart as SQL does.
  const parts = table.toLowerCase().split('.');
  if (parts.length === 2 && place[1] === '') return `${place[0]}.${parts[0]}.${parts[1]}`;
  return `${place[0]}.${place[1]}.${table.toLowerCase()}`;
}

/** The family to which the whole expression is cast: `CAST(x AS VARCHAR)`, `x::date`. */
export function readCast(sql: string): TypeFamily | undefined {
  const tokens = readTokens(sql);
  if (isWord(tokens[0], 'CAST', 'TRY_CAST') && isSymbol(tokens[1], '(')) {
    const as = tokens.findLastIndex((token) => isWord(token, 'AS'));
    const isWhole =
      tokens.filter((token) => isSymbol(token, '(')).length <= 2 && isSymbol(tokens.at(-1), ')');
    return as > 0 && isWhole ? readFamily(tokens[as + 1]?.text ?? '') : undefined;
  }
  const at = tokens.findIndex((token) => isSymbol(token, '::'));
  const isColumn = at > 0 && tokens.slice(0, at).every((token) => isName(token) || isSymbol(token, '.'));
  return isColumn && at === tokens.length - 2 ? readFamily(tokens[at + 1]?.text ?? '') : undefined;
}
