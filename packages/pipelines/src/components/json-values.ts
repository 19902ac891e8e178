/**
 * Values inside JSON. A path is written as in Snowflake: `a.b`, `a[0]`, `a['b c']`, `"a"."b"`.
 *
 * A column may hold JSON, a text with JSON, or a nested value of the warehouse; a cast makes JSON of each.
 */
import { ParameterError } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';

export const asJson = (sql: string) => `CAST(${sql} AS JSON)`;

/** The keys of a path. */
export function readPath(path: string): string[] {
  // The name of a column that is written as `guid"."#text` stands in quotes that were left out.
  const text = /^[^"].*"\."/.test(path) && !path.endsWith('"') ? `"${path}"` : path;
  const keys: string[] = [];
  const step =
    // not SQL: a path in JSON
    /(?:\.?"((?:[^"]|"")*)"|\.?\[\s*'((?:[^']|'')*)'\s*\]|\.?\[\s*"([^"]*)"\s*\]|\[\s*(\d+)\s*\]|[.:]?([^.:["]+))/y;
  const blanks = /\s*/y;
  for (;;) {
    const at = step.lastIndex;
    blanks.lastIndex = at;
    blanks.test(text);
    if (blanks.lastIndex === text.length) break;
    step.lastIndex = blanks.lastIndex;
    const match = step.exec(text);
    if (match === null)
      throw new ParameterError(
        `"${path}" is not a path (at character ${at + 1}): write it as in a.b[0]['c d']`,
      );
    const [, quoted, single, double, index, plain] = match;
    keys.push(
      quoted?.replaceAll('""', '"') ??
        single?.replaceAll("''", "'") ??
        double ??
        index ??
        plain?.trim() ??
        '',
    );
  }
  return keys;
}

/** @param json SQL that gives JSON */
export function renderAt(json: string, keys: readonly string[], dialect: Dialect): string {
  if (keys.length === 0) return json;
  const pointer = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return `json_extract(${json}, ${dialect.literal(pointer)})`;
}

/** A JSON value as a type of the warehouse. A JSON null is NULL. */
export function renderJsonCast(json: string, type: string, isTolerant: boolean, dialect: Dialect): string {
  if (type === 'JSON') return json;
  const text = `json_extract_string(${json}, '$')`;
  return type === 'VARCHAR' ? text : dialect.cast(text, type, isTolerant);
}

/** A whole column, which may hold JSON or a value of any other type. */
export function renderColumnCast(column: string, type: string, dialect: Dialect): string {
  const text = `CASE WHEN typeof(${column}) = 'JSON' THEN json_extract_string(${asJson(column)}, '$') ELSE CAST(${column} AS VARCHAR) END`;
  return type === 'VARCHAR' ? text : dialect.cast(text, type, false);
}

/** The elements of an array or the values of an object, as a list. NULL if it is neither. */
export function renderElements(json: string): string {
  return `CASE json_type(${json}) WHEN 'ARRAY' THEN json_extract(${json}, '$[*]') WHEN 'OBJECT' THEN json_extract(${json}, '$.*') END`;
}
