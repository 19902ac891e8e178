/**
 * Schemas with a name: components of the OpenAPI document, and types of the clients that are generated from
 * it. At run time a schema is used as it is, with its named parts inlined.
 */
import type { TSchema } from 'typebox';

const registry = new Map<string, TSchema>();

export const schemaName = 'x-name';

/**
 * Names a schema. A copy keeps the name, and may have a description of its own.
 * @throws when another schema has the name
 */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  if (registry.has(name)) throw new Error(`Two schemas are named ${name}.`);
  const withName = Object.assign(schema, { [schemaName]: name });
  registry.set(name, withName);
  return withName;
}

/** A schema that follows from a named one, such as the page of an item; made once for each name. */
export function namedOnce<Schema extends TSchema>(name: string, make: () => Schema): Schema {
  return (registry.get(name) as Schema | undefined) ?? named(name, make());
}

export function nameOf(schema: TSchema): string | undefined {
  return (schema as { [schemaName]?: string })[schemaName];
}

export function schemaNamed(name: string): TSchema | undefined {
  return registry.get(name);
}
