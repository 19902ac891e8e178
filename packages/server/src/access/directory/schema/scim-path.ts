/** Paths of PATCH operations (RFC 7644 §3.5.2): `emails[type eq "work"].value`, with or without a URN. */
import { problem } from '../../../kernel/http/problems.ts';
import {
  type Attribute,
  findAttribute,
  type Located,
  locateAttribute,
  type ResourceSchema,
} from './scim-attribute.ts';
import { createFilterProblem, type Filter, parseFilter, splitFilter } from './scim-filter.ts';
import type { Fields } from './scim-value.ts';

export interface PatchPath extends Located {
  filter: Filter | undefined;
}

/**
 * Undefined for an unknown attribute. Throws `invalid-attribute-path` for a path that cannot be read, and
 * `invalid-filter` for its filter.
 */
export function parsePath(schema: ResourceSchema, path: string): PatchPath | undefined {
  const open = path.indexOf('[');
  if (open < 0) {
    requireForm(/^[\w$:.-]+$/.test(path), path);
    const located = locateAttribute(schema, path);
    return located && { ...located, filter: undefined };
  }
  const close = path.lastIndexOf(']');
  const rest = path.slice(close + 1);
  requireForm(close > open && /^(\.[\w$-]+)?$/.test(rest), path);
  const located = locateAttribute(schema, path.slice(0, open));
  if (located === undefined) return undefined;
  const { attribute } = located;
  if (!attribute.multiValued || located.sub !== undefined)
    throw createPathProblem(`${path.slice(0, open)} has no values to select with [ ].`);
  const sub = rest === '' ? undefined : findAttribute(attribute.subAttributes, rest.slice(1));
  if (rest !== '' && sub === undefined) return undefined;
  const filter = parseFilter(path.slice(open + 1, close));
  requireSubAttributes(attribute, filter);
  return { ...located, sub, filter };
}

function createPathProblem(reason: string) {
  return problem('invalid-attribute-path', { reason });
}

function requireForm(isValid: boolean, path: string): void {
  if (!isValid) throw createPathProblem(`${JSON.stringify(path.slice(0, 200))} cannot be read.`);
}

function requireSubAttributes(attribute: Attribute, filter: Filter): void {
  const each = splitFilter(filter);
  switch (each.kind) {
    case 'not':
      requireSubAttributes(attribute, each.filter);
      return;
    case 'and':
    case 'or':
      for (const one of each.filters) requireSubAttributes(attribute, one);
      return;
    default:
      if (each.kind === 'values' || findAttribute(attribute.subAttributes, each.path) === undefined)
        throw createFilterProblem(`${attribute.name} has no attribute ${each.path}.`);
  }
}

/** Whether the filter is `eq` with a value, or some of these joined by `and`: it describes one value. */
export function isDescription(filter: Filter): boolean {
  const each = splitFilter(filter);
  if (each.kind === 'and') return each.filters.every(isDescription);
  return each.kind === 'compare' && each.op === 'eq' && each.value !== null;
}

/** The value that an add or replace creates if nothing matches: what the filter says with `eq` and `and`. */
export function createValueOfFilter(attribute: Attribute, filter: Filter): Fields {
  const each = splitFilter(filter);
  if (each.kind === 'and')
    return Object.assign({}, ...each.filters.map((one) => createValueOfFilter(attribute, one)));
  if (each.kind !== 'compare') return {};
  if (each.op !== 'eq' || each.value === null) return {};
  const sub = findAttribute(attribute.subAttributes, each.path);
  if (sub === undefined) return {};
  const isTrue = String(each.value).toLowerCase() === 'true';
  return { [sub.name]: sub.type === 'boolean' ? isTrue : String(each.value) };
}
