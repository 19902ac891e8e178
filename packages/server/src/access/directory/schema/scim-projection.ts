/** `attributes` and `excludedAttributes` (RFC 7644 §3.9). */
import { locateAttribute, type ResourceSchema } from './scim-attribute.ts';
import { findExtension } from './scim-resource.ts';
import { createValueProblem, type Fields, isFields, type Resource } from './scim-value.ts';

export interface Projection {
  schema: ResourceSchema;
  /** Undefined: the default. */
  only: ReadonlySet<string> | undefined;
  without: ReadonlySet<string>;
}

/** The names are a list, or text separated by commas. Unknown ones are ignored. */
export function readProjection(
  schema: ResourceSchema,
  attributes: unknown,
  excludedAttributes: unknown,
): Projection {
  const only = readNames(schema, 'attributes', attributes);
  const without = readNames(schema, 'excludedAttributes', excludedAttributes);
  return { schema, only, without: without ?? new Set() };
}

/** A name takes some microseconds. */
const mostNames = 500;
const mostCharacters = 50_000;

function readNames(schema: ResourceSchema, member: string, input: unknown): Set<string> | undefined {
  if (input === undefined || input === null) return undefined;
  const list = Array.isArray(input) ? input : [input];
  const names = new Set<string>();
  let characters = 0;
  for (const item of list) {
    if (typeof item !== 'string') throw createValueProblem(`${member} must be names of attributes.`);
    characters += item.length;
    if (list.length > mostNames || characters > mostCharacters)
      throw createValueProblem(
        `${member} has ${list.length} names; it may have ${mostNames}, and ${mostCharacters} characters.`,
      );
    for (const part of item.split(',')) {
      // Tests of Microsoft select values here too: `emails[type eq "work"]`. All values are returned.
      const [name = ''] = part.trim().split('[', 1);
      const key = name === '' ? undefined : renderKey(schema, name);
      if (key !== undefined) names.add(key);
    }
  }
  return list.every((item) => item === '') ? undefined : names;
}

/** `name.familyName`; the extension's attributes after its URN. */
function renderKey(schema: ResourceSchema, name: string): string | undefined {
  const whole = findExtension(schema, name);
  if (whole !== undefined) return whole;
  const located = locateAttribute(schema, name);
  if (located === undefined) return undefined;
  const { attribute, extension, sub } = located;
  const path = sub === undefined ? attribute.name : `${attribute.name}.${sub.name}`;
  return extension === undefined ? path : `${extension}:${path}`;
}

/** Whether a response has the attribute, or a part of it. */
export function isReturned({ only, without }: Projection, name: string): boolean {
  if (only !== undefined)
    return [...only].some((each) => each === name || each.startsWith(`${name}.`)) && !without.has(name);
  return !without.has(name);
}

/** Whether a response has only some parts of the attribute. */
export function isNarrowed({ only, without }: Projection, name: string): boolean {
  return [...(only ?? []), ...without].some((each) => each.startsWith(`${name}.`));
}

/** The resource as the projection wants it; `id` and `schemas` are always there. */
export function projectResource<Shown extends object>(projection: Projection, resource: Shown): Shown {
  const { schema, only, without } = projection;
  if (only === undefined && without.size === 0) return resource;
  const shown: Resource = {};
  for (const [name, value] of Object.entries(resource)) {
    if (name === 'id' || name === 'schemas') shown[name] = value;
    else if (name === schema.extension?.urn && isFields(value)) {
      const inner = selectFields(projection, value, `${name}:`, only?.has(name) ?? true, without.has(name));
      if (inner !== undefined) shown[name] = inner;
    } else {
      const one = selectFields(projection, { [name]: value }, '', only === undefined, false);
      if (one !== undefined) Object.assign(shown, one);
    }
  }
  return shown as Shown;
}

function selectFields(
  { only, without }: Projection,
  fields: Fields,
  prefix: string,
  isWhole: boolean,
  isExcluded: boolean,
): Fields | undefined {
  if (isExcluded) return undefined;
  const selected: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    const key = prefix + name;
    if (without.has(key)) continue;
    const all = isWhole || (only?.has(key) ?? false);
    const keep = (sub: string) => {
      const path = `${key}.${sub === 'ref' ? '$ref' : sub}`;
      return !without.has(path) && (all || (only?.has(path) ?? false));
    };
    const one = selectSubs(value, keep, all);
    if (one !== undefined) selected[name] = one;
  }
  return Object.keys(selected).length === 0 ? undefined : selected;
}

function selectSubs(value: unknown, keep: (sub: string) => boolean, all: boolean): unknown {
  const pick = (fields: Fields) => Object.fromEntries(Object.entries(fields).filter(([name]) => keep(name)));
  if (Array.isArray(value)) {
    const picked = value.map((each) => (isFields(each) ? pick(each) : all ? each : undefined));
    const found = picked.filter(
      (each) => each !== undefined && (!isFields(each) || Object.keys(each).length > 0),
    );
    return found.length > 0 || all ? found : undefined;
  }
  if (isFields(value)) {
    const picked = pick(value);
    return Object.keys(picked).length > 0 ? picked : undefined;
  }
  return all ? value : undefined;
}
