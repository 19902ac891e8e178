/** The JSON schema of a response: reading, inference from samples, and the columns of a row. */
import type { ValueKind } from '../sql/dialect/dialect.ts';
import { connectorColumnLimit, pathDepthLimit } from './bounds.ts';
import { isRawNumber } from './json-text.ts';
import type { ConnectorStructure, JsonSchema } from './profile.ts';
import { isJsonMap, type MemberReader } from './profile-reader.ts';

/** Checks the keywords that are used. */
export function readSchema(reader: MemberReader, member: string): JsonSchema | undefined {
  const written = reader.child(member)?.map;
  if (written === undefined || Object.keys(written).length === 0) return undefined;
  const fault = findSchemaFault(written, 0);
  if (fault === undefined) return written;
  reader.refuse(member, fault);
  return undefined;
}

function findSchemaFault(schema: unknown, depth: number): string | undefined {
  if (depth > pathDepthLimit) return `is nested deeper than ${pathDepthLimit} levels`;
  if (!isJsonMap(schema)) return typeof schema === 'boolean' ? undefined : 'is not a JSON schema';
  const { type, properties, items, required } = schema;
  const types = Array.isArray(type) ? type : [type ?? 'object'];
  if (types.some((each) => typeof each !== 'string' || !schemaTypes.includes(each.toLowerCase())))
    return `has the type ${JSON.stringify(type)}: use ${schemaTypes.join(', ')}`;
  if (required !== undefined && !isListOfTexts(required))
    return 'has a "required" that is not a list of names';
  if (properties !== undefined) {
    if (!isJsonMap(properties)) return 'has "properties" that are not an object';
    if (Object.keys(properties).length > connectorColumnLimit)
      return `has ${Object.keys(properties).length} properties in one object; the limit is ${connectorColumnLimit}`;
    for (const each of Object.values(properties)) {
      const fault = findSchemaFault(each, depth + 1);
      if (fault !== undefined) return fault;
    }
  }
  return items === undefined || Array.isArray(items) ? undefined : findSchemaFault(items, depth + 1);
}

const schemaTypes = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

const isListOfTexts = (value: unknown) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** The schema that all of the samples conform to. Each sample is a page. */
export function inferSchema(samples: readonly unknown[]): JsonSchema {
  return describeValues(samples, 0);
}

/** The structure of the pages: where their rows are, and their schema. */
export function inferStructure(samples: readonly unknown[]): ConnectorStructure {
  const schema = inferSchema(samples);
  const path = findRepeatingElement(schema, 0);
  return { schema, containedInOuterArray: false, repeatingElementPath: path ?? [] };
}

/** Reads each value once: a response chooses how many rows and members it has, and must not choose the time. */
function describeValues(values: readonly unknown[], depth: number): JsonSchema {
  const types = new Set<string>();
  const lists: unknown[][] = [];
  const objects: object[] = [];
  for (const value of values) {
    const isNested = typeof value === 'object' && value !== null && !isRawNumber(value);
    if (!isNested) types.add(nameType(value));
    else if (depth >= pathDepthLimit) continue;
    else if (Array.isArray(value)) lists.push(value);
    else objects.push(value);
  }
  if (lists.length > 0) types.add('array');
  if (objects.length > 0) types.add('object');
  if (types.has('number')) types.delete('integer');
  const [type, ...more] = schemaTypes.filter((each) => types.has(each));
  const items = lists.flat();
  return {
    ...(type === undefined ? {} : { type: more.length === 0 ? type : [type, ...more] }),
    ...(objects.length === 0 ? {} : describeMembers(objects, depth)),
    ...(items.length === 0 ? {} : { items: describeValues(items, depth + 1) }),
  };
}

function nameType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value;
  return Number.isInteger(isRawNumber(value) ? Number(value.rawJSON) : value) ? 'integer' : 'number';
}

function describeMembers(
  objects: readonly object[],
  depth: number,
): Pick<JsonSchema, 'properties' | 'required'> {
  const members = new Map<string, unknown[]>();
  for (const object of objects)
    for (const [name, value] of Object.entries(object)) {
      const known = members.get(name);
      if (known !== undefined) known.push(value);
      else if (members.size < connectorColumnLimit) members.set(name, [value]);
    }
  const entries = [...members];
  return {
    properties: Object.fromEntries(
      entries.map(([name, values]) => [name, describeValues(values, depth + 1)]),
    ),
    required: entries.filter(([, values]) => values.length === objects.length).map(([name]) => name),
  };
}

const listTypes = ({ type }: JsonSchema): readonly string[] =>
  type === undefined ? [] : Array.isArray(type) ? type : [type as string];

/** The first list of objects, nearest to the top. */
function findRepeatingElement(schema: JsonSchema, depth: number): string[] | undefined {
  if (listTypes(schema).includes('array')) return [];
  const properties = Object.entries(schema.properties ?? {});
  const list = properties.find(
    ([, each]) => listTypes(each).includes('array') && each.items?.properties !== undefined,
  );
  if (list !== undefined) return [list[0]];
  if (depth >= pathDepthLimit) return undefined;
  for (const [name, each] of properties) {
    if (!listTypes(each).includes('object')) continue;
    const path = findRepeatingElement(each, depth + 1);
    if (path !== undefined && path.length > 0) return [name, ...path];
  }
  return undefined;
}

/** The schema of one row: of the page's schema the part at the path, or the schema itself if it lacks the path. */
export function getRowSchema({
  schema,
  containedInOuterArray,
  repeatingElementPath,
}: ConnectorStructure): JsonSchema | undefined {
  if (schema === undefined) return undefined;
  let at: JsonSchema = containedInOuterArray ? getElement(schema) : schema;
  for (const name of repeatingElementPath) {
    const next = getElement(at).properties?.[name];
    if (next === undefined)
      return getElement(schema).properties === undefined ? undefined : getElement(schema);
    at = next;
  }
  return getElement(at);
}

const getElement = (schema: JsonSchema): JsonSchema => schema.items ?? schema;

export type ConnectorColumnType = ValueKind;

export interface ConnectorColumn {
  name: string;
  type: ConnectorColumnType;
  /** The first number that a double would round, in a column that the schema calls a number. */
  rounded?: string;
}

/** The columns of a row: one for each member. Objects and lists stay JSON. */
export function listColumns(rowSchema: JsonSchema): ConnectorColumn[] {
  return Object.entries(rowSchema.properties ?? {}).map(([name, schema]) => ({
    name,
    type: chooseColumnType(listTypes(schema).map((type) => type.toLowerCase())),
  }));
}

function chooseColumnType(types: readonly string[]): ConnectorColumnType {
  const others = types.filter((type) => type !== 'null');
  const [only] = others;
  if (others.includes('object') || others.includes('array')) return 'json';
  if (others.length === 1 && only !== undefined) return typeOfWord[only] ?? 'text';
  if (others.length === 2 && others.every((type) => type === 'integer' || type === 'number')) return 'number';
  return 'text';
}

const typeOfWord: Readonly<Record<string, ConnectorColumnType>> = {
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
};
