/** Reads the syntax tree of the parser, which is plain JSON: a tagged value is an object with one member. */
export type Json = null | boolean | number | string | readonly Json[] | JsonMap;
export interface JsonMap {
  readonly [name: string]: Json | undefined;
}

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);

const nothing: JsonMap = {};
export const mapOf = (value: Json | undefined): JsonMap => (isMap(value) ? value : nothing);

export const get = (value: Json | undefined, name: string): Json | undefined =>
  isMap(value) ? value[name] : undefined;

/** The tag of a value, such as `Select`, and what it holds. A tag without a content is only a text. */
export function readTag(value: Json | undefined): readonly [tag: string, content: Json | undefined] {
  if (typeof value === 'string') return [value, undefined];
  if (!isMap(value)) return ['', undefined];
  const [tag = ''] = Object.keys(value);
  return [tag, value[tag]];
}

/** The text of an identifier. */
export function readIdentifier(value: Json | undefined): string {
  const text = get(value, 'value');
  return typeof text === 'string' ? text : '';
}

/** The names of `a.b.c`. */
export function readPath(value: Json | undefined): string[] {
  return listOf(value).map((part) => readIdentifier(get(part, 'Identifier') ?? part));
}

/** The text of a literal; undefined if it is none. */
export function readText(value: Json | undefined): string | undefined {
  const literal = get(get(get(value, 'Value'), 'value'), 'SingleQuotedString');
  return typeof literal === 'string' ? literal : undefined;
}

/** The whole number of a literal, such as a position in ORDER BY; undefined if it is none. */
export function readNumber(value: Json | undefined): number | undefined {
  const [text] = listOf(get(get(get(value, 'Value'), 'value'), 'Number'));
  const number = typeof text === 'string' ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}
