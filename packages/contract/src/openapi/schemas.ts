/** Schemas of the document: a named one is a component, and a reference wherever it is used. */
import type { TSchema } from 'typebox';
import { schemaName, schemaNamed } from '../named-schema.ts';

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
export type JsonObject = { [member: string]: Json };

export interface SchemaWriter {
  /** The schema, with a reference in place of each part that has a name. */
  write(schema: TSchema): JsonObject;
  /** The same, as the component `name` unless it has a name of its own. */
  writeAs(name: string, schema: TSchema): JsonObject;
  /** The components that were referred to, by name. */
  components(): Record<string, JsonObject>;
}

export function schemaWriter(): SchemaWriter {
  const components = new Map<string, JsonObject>();
  const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

  function define(name: string, schema: JsonObject): void {
    const known = components.get(name);
    if (known === undefined) components.set(name, schema);
    else if (!isSame(known, schema)) throw new Error(`Two schemas of the document are named ${name}.`);
  }

  function writePart(part: Json): Json {
    if (Array.isArray(part)) return part.map(writePart);
    if (!isObject(part)) return part;
    const { [schemaName]: name, ...rest } = part;
    const written = withoutTwins(discriminated(mapValues(rest, writePart)));
    return typeof name === 'string' ? writeNamed(name, written) : written;
  }

  function writeNamed(name: string, written: JsonObject): JsonObject {
    const { [schemaName]: _, ...base } = plain(schemaNamed(name) ?? {});
    const component = withoutTwins(discriminated(mapValues(base, writePart)));
    if (!isSame(withoutDescription(component), withoutDescription(written)))
      throw new Error(
        `A copy of the schema ${name} differs in more than its description: give it another name.`,
      );
    define(name, component);
    return component.description === written.description || written.description === undefined
      ? reference(name)
      : { ...reference(name), description: written.description };
  }

  function discriminated(schema: JsonObject): JsonObject {
    const { anyOf, ...rest } = schema;
    if (!Array.isArray(anyOf)) return schema;
    const mapping = mappingOf(anyOf, components);
    if (mapping === undefined) return schema;
    return { ...rest, oneOf: anyOf, discriminator: { propertyName: 'type', mapping } };
  }

  const write = (schema: TSchema) => writePart(plain(schema)) as JsonObject;
  return {
    write,
    writeAs(name, schema) {
      const written = write(schema);
      if ('$ref' in written) return written;
      define(name, written);
      return reference(name);
    },
    components: () =>
      Object.fromEntries([...components].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/**
 * A member `$ref` beside `ref` becomes a pattern: generators make the same identifier of both, and some then leave the
 * schema out.
 */
function withoutTwins(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isObject(properties) || properties.$ref === undefined || properties.ref === undefined) return schema;
  const { $ref, ...rest } = properties;
  return { ...schema, properties: rest, patternProperties: { '^\\$ref$': $ref } };
}

/** Which of the alternatives has which `type`; undefined unless each is a component that requires one of its own. */
function mappingOf(alternatives: readonly Json[], components: ReadonlyMap<string, JsonObject>) {
  const mapping: Record<string, string> = {};
  for (const alternative of alternatives) {
    const $ref = isObject(alternative) ? alternative.$ref : undefined;
    if (typeof $ref !== 'string') return undefined;
    const component = components.get($ref.split('/').at(-1) ?? '');
    const { type } = (component?.properties ?? {}) as { type?: { enum?: string[]; 'x-words'?: string[] } };
    const required = component?.required;
    const words = type?.enum ?? type?.['x-words'];
    if (words === undefined || !Array.isArray(required) || !required.includes('type')) return undefined;
    for (const word of words) {
      if (word in mapping) return undefined;
      mapping[word] = $ref;
    }
  }
  return mapping;
}

/** A schema as JSON, without what TypeBox adds to it. */
function plain(schema: TSchema): JsonObject {
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}

const isObject = (json: Json | undefined): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

const isSame = (one: Json, other: Json) => JSON.stringify(one) === JSON.stringify(other);

const withoutDescription = ({ description: _, ...rest }: JsonObject): JsonObject => rest;

const mapValues = (object: JsonObject, map: (value: Json) => Json): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
