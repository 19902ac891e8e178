/**
 * Describes why a value does not match its schema, in sentences for the caller.
 *
 * Runs in linear time: each part is visited once per alternative of its schema, and the search stops at
 * `most` faults. Ajv decides whether a value is valid, but with `allErrors` it would create millions of error
 * objects for a large one.
 */
import { nearestName } from '@headgate/contract';
import {
  findTypeName,
  isOfType,
  isPlainObject,
  type JsonSchema,
  listAlternatives,
  listTypes,
  listWords,
  type Path,
  renderPointer,
} from './json-schema.ts';

export interface Fault {
  /** RFC 6901, relative to the validated value. */
  pointer: string;
  detail: string;
}

export interface FaultOptions {
  /** The maximum number of faults. */
  most: number;
  /** Whether messages may quote the value. False if it may contain a secret. */
  quotes: boolean;
  /** Whether the value comes from the URL or a header, so that it is always text. */
  isText?: boolean;
  /** Whether the text has a JSON Schema format. */
  isFormat(format: string, text: string): boolean;
}

export function findFaults(schema: JsonSchema, value: unknown, options: FaultOptions): Fault[] {
  const found: Fault[] = [];
  checkValue(schema, value, undefined, { ...options, found });
  return found;
}

interface Search extends FaultOptions {
  found: Fault[];
}

function isFull({ found, most }: Search): boolean {
  return found.length >= most;
}

function addFault(search: Search, path: Path | undefined, detail: string): void {
  if (!isFull(search)) search.found.push({ pointer: renderPointer(path), detail });
}

function checkValue(schema: JsonSchema, value: unknown, path: Path | undefined, search: Search): void {
  if (isFull(search)) return;
  if (schema.anyOf !== undefined) {
    checkUnion(listAlternatives(schema), value, path, search);
  } else if (!isOfType(schema, value)) {
    addFault(search, path, describeWrongType(listTypes(schema), value, search, schema['x-form']));
  } else if (listWords(schema) !== undefined) {
    if (!isWord(schema, value))
      addFault(search, path, describeUnknownWord(listWords(schema) ?? [], value, search));
  } else if (typeof value === 'string') {
    checkText(schema, value, path, search);
  } else if (typeof value === 'number') {
    checkNumber(schema, value, path, search);
  } else if (Array.isArray(value)) {
    checkArray(schema, value, path, search);
  } else if (isPlainObject(value)) {
    checkObject(schema, value, path, search);
  }
}

/**
 * Reports the faults of the closest alternative: by type, then by the member that distinguishes the
 * alternatives, then by fewest faults.
 */
function checkUnion(
  alternatives: readonly JsonSchema[],
  value: unknown,
  path: Path | undefined,
  search: Search,
): void {
  const ofType = alternatives.filter((each) => isOfType(each, value));
  if (ofType.length === 0) {
    addFault(search, path, describeWrongType([...new Set(alternatives.flatMap(listTypes))], value, search));
    return;
  }
  const tag = findTag(ofType, value);
  if (tag !== undefined && tag.meant.length === 0) {
    addFault(search, { above: path, key: tag.name }, describeUnknownWord(tag.words, tag.word, search));
    return;
  }
  let best: Fault[] | undefined;
  for (const each of tag?.meant ?? ofType) {
    const within: Search = { ...search, most: search.most - search.found.length, found: [] };
    checkValue(each, value, path, within);
    if (within.found.length === 0) return;
    if (best === undefined || within.found.length < best.length) best = within.found;
  }
  search.found.push(...(best ?? []));
}

/** The member that distinguishes the alternatives, such as `type`: each has a fixed set of values for it. */
function findTag(alternatives: readonly JsonSchema[], value: unknown) {
  if (alternatives.length < 2 || !isPlainObject(value)) return undefined;
  const wordsIn = (schema: JsonSchema, name: string) => listWords(schema.properties?.[name]);
  const names = Object.keys(alternatives[0]?.properties ?? {});
  const name = names.find((each) => alternatives.every((schema) => wordsIn(schema, each) !== undefined));
  if (name === undefined || !Object.hasOwn(value, name)) return undefined;
  const word = value[name];
  return {
    name,
    word,
    words: [...new Set(alternatives.flatMap((schema) => wordsIn(schema, name) ?? []))],
    meant: alternatives.filter((schema) => isWord(schema.properties?.[name] ?? {}, word)),
  };
}

function isWord(schema: JsonSchema, value: unknown): boolean {
  if (schema['x-words'] === undefined) return listWords(schema)?.includes(value) ?? false;
  return typeof value === 'string' && compilePattern(schema.pattern ?? '').test(value);
}

function checkText(schema: JsonSchema, text: string, path: Path | undefined, search: Search): void {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema;
  // A text has at most as many characters as UTF-16 units, so counting is needed only near the limits.
  const length = text.length > maxLength || text.length < minLength * 2 ? countCharacters(text) : text.length;
  if (length < minLength) {
    addFault(
      search,
      path,
      length === 0 ? 'must not be empty' : `must have at least ${formatCount(minLength, 'character')}`,
    );
  } else if (length > maxLength && format !== 'date') {
    addFault(
      search,
      path,
      `must have at most ${formatCount(maxLength, 'character')}; it has ${formatNumber(length)}`,
    );
  } else if (pattern !== undefined && !compilePattern(pattern).test(text)) {
    addFault(
      search,
      path,
      `must be ${schema['x-form'] ?? `text that matches ${pattern}`}${quoteValue(text, search)}`,
    );
  } else if (format !== undefined && (length > maxLength || !search.isFormat(format, text))) {
    addFault(search, path, `must be ${formatForms[format] ?? `a ${format}`}${quoteValue(text, search)}`);
  }
}

/** In place of a list of the characters, which takes 100 ms for 8 MiB. */
function countCharacters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/** Descriptions of JSON Schema formats that complete "must be …". */
const formatForms: Readonly<Record<string, string>> = {
  'date-time': 'a date-time such as 2026-01-01T00:00:00Z',
  date: 'a date such as 2026-01-31',
  uuid: 'a UUID in lower case such as 0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23',
  id: 'an id in lower case, as responses give it',
  uri: 'a URI such as https://example.com/path',
};

const patterns = new Map<string, RegExp>();

function compilePattern(pattern: string): RegExp {
  let known = patterns.get(pattern);
  if (known === undefined) {
    known = new RegExp(pattern, 'u');
    patterns.set(pattern, known);
  }
  return known;
}

function checkNumber(schema: JsonSchema, value: number, path: Path | undefined, search: Search): void {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  if (value < minimum)
    addFault(search, path, `must be at least ${formatNumber(minimum)}${quoteValue(value, search)}`);
  if (value > maximum)
    addFault(search, path, `must be at most ${formatNumber(maximum)}${quoteValue(value, search)}`);
}

function checkArray(
  schema: JsonSchema,
  items: readonly unknown[],
  path: Path | undefined,
  search: Search,
): void {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  if (items.length < minItems) addFault(search, path, `must have at least ${formatCount(minItems, 'item')}`);
  if (items.length > maxItems) {
    addFault(
      search,
      path,
      `must have at most ${formatCount(maxItems, 'item')}; it has ${formatNumber(items.length)}`,
    );
    return;
  }
  if (schema.uniqueItems && new Set(items.map((item) => JSON.stringify(item))).size < items.length)
    addFault(search, path, 'must not contain duplicate items');
  if (schema.items === undefined) return;
  for (let index = 0; index < items.length && !isFull(search); index++)
    checkValue(schema.items, items[index], { above: path, key: index }, search);
}

function checkObject(
  schema: JsonSchema,
  value: Record<string, unknown>,
  path: Path | undefined,
  search: Search,
): void {
  const { properties = {}, required = [], additionalProperties, propertyNames, maxProperties } = schema;
  const names = Object.keys(value);
  for (const name of required) {
    if (!Object.hasOwn(value, name) && properties[name]?.default === undefined)
      addFault(search, { above: path, key: name }, describeMissing(name, names, properties));
  }
  if (names.length < (schema.minProperties ?? 0)) addFault(search, path, 'must have at least 1 member');
  if (maxProperties !== undefined && names.length > maxProperties) {
    addFault(
      search,
      path,
      `must have at most ${formatCount(maxProperties, 'member')}; it has ${formatNumber(names.length)}`,
    );
    return;
  }
  for (const name of names) {
    if (isFull(search)) return;
    const member = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const at: Path = { above: path, key: name };
    if (member !== undefined) checkValue(member, value[name], at, search);
    else if (typeof additionalProperties === 'object') {
      if (propertyNames !== undefined) checkName(propertyNames, name, at, search);
      checkValue(additionalProperties, value[name], at, search);
    }
  }
}

function checkName(schema: JsonSchema, name: string, path: Path, search: Search): void {
  const within: Search = { ...search, found: [] };
  checkValue(schema, name, undefined, within);
  for (const { detail } of within.found) addFault(search, path, `the name of this member ${detail}`);
}

/** The maximum number of unknown members that are compared with a missing one. */
const comparedLimit = 20;

function describeMissing(
  name: string,
  inputs: readonly string[],
  properties: Readonly<Record<string, unknown>>,
): string {
  const strays = inputs.filter((each) => !Object.hasOwn(properties, each)).slice(0, comparedLimit);
  const near = nearestName(name, strays);
  return near === undefined ? 'is required' : `is required; the request has ${JSON.stringify(near)} instead`;
}

function describeUnknownWord(words: readonly unknown[], value: unknown, search: Search): string {
  const allowed = words.length === 1 ? `must be ${String(words[0])}` : `must be one of ${joinWords(words)}`;
  if (typeof value !== 'string') return `${allowed}, not ${nameType(findTypeName(value))}`;
  const near = nearestName(value, words.map(String));
  return `${allowed}${quoteValue(value, search)}${near === undefined ? '' : `; did you mean ${near}?`}`;
}

/** A detail has 2,000 characters at most, and few people read a list of a hundred words. */
const mostListedWords = 50;

function joinWords(words: readonly unknown[]): string {
  if (words.length <= mostListedWords) return words.join(', ');
  const rest = words.length - mostListedWords;
  return `${words.slice(0, mostListedWords).join(', ')} and ${rest} more, which the reference lists`;
}

function describeWrongType(types: readonly string[], value: unknown, search: Search, form?: string): string {
  if (value === undefined) return 'is required';
  if (form !== undefined && types.includes('object')) return `must be ${form}`;
  if (search.isText && typeof value === 'string') {
    const expected = types.map((type) => (type === 'boolean' ? 'true or false' : nameType(type)));
    return `must be ${anyOf.format(expected)}${quoteValue(value, search)}`;
  }
  const found = describeFound(types, value);
  return `must be ${anyOf.format(types.map(nameType))}, not ${found}`;
}

function describeFound(types: readonly string[], value: unknown): string {
  if (typeof value !== 'number') return nameType(findTypeName(value));
  if (!Number.isFinite(value)) return 'a number outside the range of a double';
  return types.includes('integer') ? String(value) : 'a number';
}

const anyOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

function nameType(type: string): string {
  return type === 'null' ? 'null' : `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** The value, if it is short and may be quoted. */
function quoteValue(value: string | number, { quotes }: Search): string {
  if (!quotes) return '';
  const text = JSON.stringify(value);
  return text.length > 80 ? '' : `; got ${text}`;
}

function formatCount(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}

function formatNumber(number: number): string {
  return number.toLocaleString('en');
}
