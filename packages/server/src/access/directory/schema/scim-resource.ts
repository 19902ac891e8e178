/** Reads the body of a create or replace request (RFC 7644 §3.3, §3.5.1). */
import { problem } from '../../../kernel/http/problems.ts';
import { isReadOnly, locateAttribute, type ResourceSchema } from './scim-attribute.ts';
import {
  createValueProblem,
  type Fields,
  findMember,
  isFields,
  type Resource,
  readValue,
} from './scim-value.ts';

export function createMessageProblem(reason: string) {
  return problem('invalid-scim-message', { reason });
}

/** Throws `invalid-scim-message` unless `schemas` is absent or names the URN. */
export function requireSchema(message: Fields, urn: string): void {
  const schemas = findMember(message, 'schemas');
  if (schemas === undefined || schemas === null) return;
  const list = Array.isArray(schemas) ? schemas : [schemas];
  if (list.some((each) => typeof each === 'string' && each.toLowerCase() === urn.toLowerCase())) return;
  throw createMessageProblem(
    `schemas is ${JSON.stringify(schemas).slice(0, 200)}; it must contain ${JSON.stringify(urn)}.`,
  );
}

/**
 * The attributes that a client may write, by their names in the schema; `null` means unassigned. Throws
 * `invalid-scim-message` and `invalid-attribute-value`.
 */
export function readResource(schema: ResourceSchema, body: Fields): Resource {
  requireSchema(body, schema.urn);
  const resource: Resource = {};
  for (const [name, value] of Object.entries(body)) {
    const urn = findUrn(schema, name);
    if (urn !== undefined) {
      if (value === null) continue;
      if (!isFields(value)) throw createValueProblem(`${urn} must be an object.`);
      for (const [inner, input] of Object.entries(value)) assign(schema, resource, `${urn}:${inner}`, input);
    } else assign(schema, resource, name, value);
  }
  return resource;
}

export function findExtension({ extension }: ResourceSchema, name: string): string | undefined {
  return extension?.urn.toLowerCase() === name.toLowerCase() ? extension.urn : undefined;
}

/** Some clients put the attributes of the core schema below its URN too. */
function findUrn(schema: ResourceSchema, name: string): string | undefined {
  return name.toLowerCase() === schema.urn.toLowerCase() ? schema.urn : findExtension(schema, name);
}

function assign(schema: ResourceSchema, resource: Resource, path: string, value: unknown): void {
  const located = locateAttribute(schema, path);
  if (located === undefined || isReadOnly(located.attribute)) return;
  const { attribute, extension, sub } = located;
  if (sub !== undefined && (attribute.multiValued || isReadOnly(sub))) return;
  const read =
    sub === undefined
      ? (readMembersLater(attribute.name, value) ?? readValue(attribute, value))
      : readValue(sub, value);
  // A PUT keeps the role of a group that it leaves out, and takes one that is null.
  const isUnassigned = value === null && sub === undefined && extension === undefined;
  if (read === undefined && !isUnassigned) return;
  const holder = openHolder(resource, extension);
  if (sub === undefined) holder[attribute.name] = read ?? null;
  else {
    const old = holder[attribute.name];
    holder[attribute.name] = { ...(isFields(old) ? old : {}), [sub.name]: read };
  }
}

/** Members are read as ids (member-change.ts): there may be many. */
function readMembersLater(name: string, value: unknown): unknown {
  return name === 'members' && value !== null ? value : undefined;
}

/** The object that has the attributes of the extension, or the resource. */
export function openHolder(resource: Resource, extension: string | undefined): Fields {
  if (extension === undefined) return resource;
  const found = resource[extension];
  if (isFields(found)) return found;
  const made: Fields = {};
  resource[extension] = made;
  return made;
}

/** Throws `invalid-attribute-value` unless the attribute is a text that is not empty. */
export function requireText(resource: Resource, name: string, limit: number): string {
  const found = resource[name];
  if (typeof found !== 'string' || found.trim() === '')
    throw createValueProblem(`${name} is required, as text that is not empty.`);
  if (found.length > limit)
    throw createValueProblem(`${name} has ${found.length} characters; at most ${limit} are allowed.`);
  return found;
}
