/** Parameters of the document: one that several operations have is a component. */
import type { TObject, TSchema } from 'typebox';
import type { PublishedExample } from '../example.ts';
import type { Operation } from '../operation.ts';
import type { JsonObject, SchemaWriter } from './schemas.ts';

type Place = 'path' | 'query' | 'header';

export interface Parameter {
  name: string;
  in: Place;
  required: boolean;
  description?: string;
  schema: JsonObject;
  example?: unknown;
}

/** The headers of every POST of the management API, besides those that the operation declares. */
export const idempotencyKey = {
  name: 'Idempotency-Key',
  description:
    'The server carries out the request once. If it gets the same request with the same key again within 24 hours, it returns the same response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

export function parametersOf(
  operation: Operation,
  sent: PublishedExample['request'] | undefined,
  schemas: SchemaWriter,
): Parameter[] {
  const listed = [
    ...parametersIn('path', operation.params, sent?.params, schemas),
    ...parametersIn('query', operation.query, sent?.query, schemas),
    ...parametersIn('header', operation.headers, sent?.headers, schemas),
  ];
  if (operation.method !== 'POST') return listed;
  return [...listed, { ...idempotencyKey, in: 'header', required: false }];
}

function parametersIn(
  place: Place,
  schema: TObject | undefined,
  sent: Record<string, string> | undefined,
  schemas: SchemaWriter,
): Parameter[] {
  if (schema === undefined) return [];
  const examples = Object.fromEntries(
    Object.entries(sent ?? {}).map(([name, text]) => [name.toLowerCase(), text]),
  );
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties).map(([name, member]) => {
    const { type, default: preset } = member as { type?: string; default?: unknown };
    const { description, ...rest } = schemas.write(member as TSchema);
    const example = exampleValue(type, examples[name.toLowerCase()]);
    return {
      name,
      in: place,
      // A member with a default need not be sent.
      required: required.has(name) && preset === undefined,
      ...(typeof description === 'string' ? { description } : {}),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    };
  });
}

/** A parameter is text in the URL; its example is a value of its schema. */
function exampleValue(type: string | undefined, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  if (type === 'integer') return Number(text);
  if (type === 'boolean') return text === 'true';
  return type === 'array' ? [text] : text;
}

/** What two uses of a parameter must have in common to be one component. */
const keyOf = ({ example: _, ...parameter }: Parameter): string => JSON.stringify(parameter);

/** `Idempotency-Key` → `IdempotencyKey`, `projectId` → `ProjectId`. */
const pascal = (name: string) =>
  name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

/**
 * The components for the parameters that occur more than once, and a function that writes a parameter: as a
 * reference, if it is among them. A name that several have gets its place: `ConnectionNamePathParameter`.
 */
export function sharedParameters(all: readonly Parameter[]) {
  const shared = [...Map.groupBy(all, keyOf)].filter(([, uses]) => uses.length > 1);
  const sameName = Map.groupBy(shared, ([, [first]]) => pascal(first?.name ?? ''));
  const components: Record<string, Parameter> = {};
  const nameByKey = new Map<string, string>();
  for (const [name, group] of [...sameName].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    for (const [key, uses] of group) {
      const parameter = uses.find(({ example }) => example !== undefined) ?? uses[0];
      if (parameter === undefined) continue;
      const full = `${name}${group.length === 1 ? '' : pascal(parameter.in)}Parameter`;
      // Parameters that differ in more than their place are written where they are used.
      if (full in components) continue;
      components[full] = parameter;
      nameByKey.set(key, full);
    }
  }
  const write = (parameter: Parameter): object => {
    const name = nameByKey.get(keyOf(parameter));
    return name === undefined ? parameter : { $ref: `#/components/parameters/${name}` };
  };
  return { components, write };
}
