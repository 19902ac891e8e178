/**
 * What a request says beyond its schema, and `null` for what it leaves out (decisions.md §2, absent or null,
 * unknown members).
 */
import { nearestName } from '@headgate/contract';
import { alternativesOf, isPlainObject, type JsonSchema, type Path, pointerOf } from './json-schema.ts';

/** A member that no schema knows. */
export interface UnknownMember {
  pointer: string;
  /** A known member of the same object whose name is close. */
  near: string | undefined;
}

const unknownLimit = 100;

/**
 * Takes the unknown members out of a value and answers them, at most `unknownLimit`. With `nullIsAbsent` it
 * also takes out each optional member that is null where its schema takes no null: generated clients send one
 * for what they leave out.
 */
export function tidyMembers(schema: JsonSchema, value: unknown, nullIsAbsent: boolean): UnknownMember[] {
  const unknown: UnknownMember[] = [];
  walk(alternativesOf(schema), value, undefined);
  return unknown;

  function walk(schemas: readonly JsonSchema[], at: unknown, path: Path | undefined): void {
    if (typeof at !== 'object' || at === null) return;
    if (Array.isArray(at)) {
      const items = at.length === 0 ? nothing : itemsOf(schemas);
      if (items.length === 0) return;
      for (let index = 0; index < at.length; index++) {
        if (typeof at[index] === 'object') walk(items, at[index], { above: path, key: index });
      }
    } else if (isPlainObject(at)) walkObject(schemas, at, path);
  }

  function walkObject(
    schemas: readonly JsonSchema[],
    at: Record<string, unknown>,
    path: Path | undefined,
  ): void {
    const objects = schemas.filter(
      ({ properties, additionalProperties }) => properties ?? additionalProperties,
    );
    // Where any member is allowed, none is unknown.
    if (objects.length === 0) return;
    const isOpen = objects.some(({ additionalProperties }) => additionalProperties === true);
    for (const name of Object.keys(at)) {
      const members = objects.flatMap((each) => membersOf(each, name));
      if (members.length > 0) {
        if (nullIsAbsent && at[name] === null && isLeftOut(objects, members, name)) delete at[name];
        else walk(members, at[name], { above: path, key: name });
      } else if (!isOpen && unknown.length < unknownLimit) {
        const known = objects.flatMap(({ properties = {} }) => Object.keys(properties));
        const near = nearestName(name, [...new Set(known)]);
        unknown.push({ pointer: pointerOf({ above: path, key: name }), near });
        delete at[name];
      } else if (!isOpen) delete at[name];
    }
  }
}

const nothing: readonly JsonSchema[] = [];
/** By the alternatives of the list: a large one holds many lists that share theirs. */
const knownItems = new WeakMap<readonly JsonSchema[], readonly JsonSchema[]>();

function itemsOf(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  let items = knownItems.get(schemas);
  if (items === undefined) {
    items = schemas.flatMap((each) => (each.items === undefined ? [] : alternativesOf(each.items)));
    knownItems.set(schemas, items);
  }
  return items;
}

function membersOf(
  { properties = {}, additionalProperties }: JsonSchema,
  name: string,
): readonly JsonSchema[] {
  const member = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (member !== undefined) return alternativesOf(member);
  return typeof additionalProperties === 'object' ? alternativesOf(additionalProperties) : [];
}

function isLeftOut(objects: readonly JsonSchema[], members: readonly JsonSchema[], name: string): boolean {
  const isMember = objects.some(({ properties = {} }) => Object.hasOwn(properties, name));
  const isRequired = objects.some(({ required = [] }) => required.includes(name));
  return isMember && !isRequired && !members.some(takesNull);
}

function takesNull({ type, enum: words, const: only }: JsonSchema): boolean {
  if (type !== undefined) return type === 'null' || type.includes('null');
  if (words !== undefined) return words.includes(null);
  return only === undefined || only === null;
}
