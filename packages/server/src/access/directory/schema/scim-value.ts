/**
 * Reads the values of attributes as clients send them: names in any case, booleans as text, one value for
 * many, a manager as text. Read-only and unknown attributes are ignored (RFC 7644 §3.3).
 */
import { scimTextLimit } from '@headgate/contract';
import { findStructureFault } from '../../../kernel/http/json-body.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { findTextFault } from '../../../kernel/http/text-faults.ts';
import { type Attribute, findAttribute, isReadOnly } from './scim-attribute.ts';
import { readBoolean } from './scim-filter.ts';

/** A resource with the names of its schema. The extension's attributes are below its URN. */
export type Resource = Record<string, unknown>;
export type Fields = Record<string, unknown>;

const valueLimit = 1_000;

export function createValueProblem(reason: string) {
  return problem('invalid-attribute-value', { reason });
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Finds a member of a message by its name in any case. */
export function findMember(message: Fields, name: string): unknown {
  if (Object.hasOwn(message, name)) return message[name];
  const lowerName = name.toLowerCase();
  const found = Object.keys(message).find((each) => each.toLowerCase() === lowerName);
  return found === undefined ? undefined : message[found];
}

/**
 * The value in the form of the schema; undefined if it is unassigned (null, an empty array or object). Throws
 * `invalid-attribute-value`.
 */
export function readValue(attribute: Attribute, value: unknown, path = attribute.name): unknown {
  if (value === null || value === undefined) return undefined;
  return attribute.multiValued ? readValues(attribute, value, path) : readOne(attribute, value, path);
}

/** The values of a multi-valued attribute; undefined if there are none. */
export function readValues(attribute: Attribute, value: unknown, path: string): Fields[] | undefined {
  const list = listValues(value);
  requireFewValues(path, list.length);
  const found = new Map<string, Fields>();
  for (const each of list) {
    const read = readOne(attribute, each, path);
    if (!isFields(read)) continue;
    const description = describeValue(read);
    if (!found.has(description)) found.set(description, read);
  }
  const values = [...found.values()];
  if (values.filter(({ primary }) => primary === true).length > 1)
    throw createValueProblem(`${path} has more than one value with primary true; only one can be.`);
  return values.length === 0 ? undefined : values;
}

/** The items of a value that may be one item, many, or JSON text of many. */
export function listValues(value: unknown): unknown[] {
  const parsed = typeof value === 'string' ? parseText(value) : value;
  return (Array.isArray(parsed) ? parsed : [parsed]).filter((each) => each !== null && each !== undefined);
}

/** Some clients send the JSON of an array as text. */
function parseText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  const fault = findStructureFault(text, { isOpen: true });
  if (fault !== undefined) throw createValueProblem(`JSON as text is not valid: ${fault}.`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return text;
  }
  const wrong = findTextFault(parsed);
  if (wrong !== undefined) throw createValueProblem(`A text in JSON as text ${wrong.detail}.`);
  return parsed;
}

function readOne(attribute: Attribute, value: unknown, path: string): unknown {
  switch (attribute.type) {
    case 'complex':
      return readComplex(attribute, value, path);
    case 'boolean': {
      const read = readBoolean(value);
      if (read === undefined) throw createTypeProblem(path, value, 'true or false');
      return read;
    }
    default:
      return readText(value, path);
  }
}

function readText(value: unknown, path: string): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') throw createTypeProblem(path, value, 'text');
  if (text.length > scimTextLimit)
    throw createValueProblem(`${path} has ${text.length} characters; at most ${scimTextLimit} are allowed.`);
  return text;
}

function readComplex(attribute: Attribute, value: unknown, path: string): Fields | undefined {
  const fields = isFields(value) ? value : wrapText(attribute, value, path);
  const read: Fields = {};
  for (const [name, input] of Object.entries(fields)) {
    const sub = findAttribute(attribute.subAttributes, name);
    if (sub === undefined || isReadOnly(sub)) continue;
    const one = input === null ? undefined : readOne(sub, input, `${path}.${sub.name}`);
    if (one !== undefined) read[sub.name] = one;
  }
  return Object.keys(read).length === 0 ? undefined : read;
}

/** A text in place of a complex value is its `value`: a manager, an e-mail address. */
function wrapText(attribute: Attribute, value: unknown, path: string): Fields {
  const parsed = typeof value === 'string' ? parseText(value) : value;
  if (isFields(parsed)) return parsed;
  const hasValue = findAttribute(attribute.subAttributes, 'value') !== undefined;
  if (!hasValue || (typeof parsed !== 'string' && typeof parsed !== 'number'))
    throw createTypeProblem(path, value, 'an object');
  return parsed === '' ? {} : { value: parsed };
}

function createTypeProblem(path: string, value: unknown, expected: string) {
  return createValueProblem(`${path} is ${JSON.stringify(value).slice(0, 200)}; it must be ${expected}.`);
}

/** The same text for two values of a multi-valued attribute that differ in nothing but `primary`. */
export function describeValue({ primary: _, ...value }: Fields): string {
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return JSON.stringify(members.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Throws `invalid-attribute-value`. */
export function requireFewValues(path: string, found: number): void {
  if (found > valueLimit)
    throw createValueProblem(`${path} has ${found} values; at most ${valueLimit} are allowed.`);
}
