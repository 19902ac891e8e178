/** Finds unknown members, and removes `null` for optional members. */
import { nearestName } from '@headgate/contract';
import { isPlainObject, type JsonSchema, listAlternatives, type Path, renderPointer } from './json-schema.ts';

/** A member that the schema does not define. */
export interface UnknownMember {
  pointer: string;
  /** A known member of the same object with a similar name. */
  near: string | undefined;
}

export interface TidyMembers {
  /** At most `unknownLimit`. */
  unknown: readonly UnknownMember[];
  /**
   * Removes all unknown members from the value. Call it after the faults are found: one may be a misspelled
   * required member.
   */
  dropUnknown(): void;
}

const unknownLimit = 100;
/** The maximum number of unknown members that are compared with the known ones. */
const comparedLimit = 20;

/**
 * Finds the unknown members of a value. With `nullIsAbsent`, removes optional members that are null although
 * the schema does not allow null: generated clients send null for omitted members. Linear in the size of the
 * value.
 */
export function tidyMembers(schema: JsonSchema, value: unknown, nullIsAbsent: boolean): TidyMembers {
  const unknown: UnknownMember[] = [];
  const strays: [holder: Record<string, unknown>, name: string][] = [];
  walk(listAlternatives(schema), value, undefined);
  return {
    unknown,
    dropUnknown() {
      for (const [holder, name] of strays) delete holder[name];
    },
  };

  function walk(schemas: readonly JsonSchema[], at: unknown, path: Path | undefined): void {
    if (typeof at !== 'object' || at === null) return;
    if (Array.isArray(at)) {
      const { items, most } = findItems(schemas);
      // An array over its limit is refused as a whole.
      if (items.length === 0 || at.length > most) return;
      for (let index = 0; index < at.length; index++) {
        if (typeof at[index] === 'object') walk(items, at[index], { above: path, key: index });
      }
    } else if (isPlainObject(at)) walkObject(findMembers(schemas), at, path);
  }

  function walkObject(members: Members, at: Record<string, unknown>, path: Path | undefined): void {
    const names = members.isFree ? [] : Object.keys(at);
    if (names.length > members.most) return;
    for (const name of names) {
      const known = members.named.get(name) ?? members.others;
      if (known === undefined) {
        if (!members.isOpen) noteStray(members, at, name, path);
      } else if (at[name] === null) {
        if (nullIsAbsent && known.mayBeLeftOut) delete at[name];
      } else if (typeof at[name] === 'object') walk(known.schemas, at[name], { above: path, key: name });
    }
  }

  function noteStray(
    members: Members,
    at: Record<string, unknown>,
    name: string,
    path: Path | undefined,
  ): void {
    strays.push([at, name]);
    if (unknown.length >= unknownLimit) return;
    const known = [...members.named.keys()];
    const near =
      unknown.length < comparedLimit ? (nearestName(name, known) ?? findLongerName(name, known)) : undefined;
    unknown.push({ pointer: renderPointer({ above: path, key: name }), near });
  }
}

/** The one known name that ends with the whole word, such as cronTimezone for timezone. */
function findLongerName(name: string, known: readonly string[]): string | undefined {
  if (name.length < 4) return undefined;
  const end = name.charAt(0).toUpperCase() + name.slice(1);
  const [longer, another] = known.filter((each) => each.endsWith(end));
  return another === undefined ? longer : undefined;
}

interface Member {
  schemas: readonly JsonSchema[];
  /** Optional and not nullable. */
  mayBeLeftOut: boolean;
}

/** The members that the alternatives of an object define. */
interface Members {
  named: ReadonlyMap<string, Member>;
  /** For a map with arbitrary keys. */
  others: Member | undefined;
  /** An object that allows additional members. */
  isOpen: boolean;
  /** No alternative defines members. */
  isFree: boolean;
  /** The member limit: a larger object is refused as a whole. */
  most: number;
}

/** Cached by alternatives: a large value has many parts with the same schema. */
const knownItems = new WeakMap<readonly JsonSchema[], Items>();
const knownMembers = new WeakMap<readonly JsonSchema[], Members>();

interface Items {
  items: readonly JsonSchema[];
  /** The item limit: a longer array is refused as a whole. */
  most: number;
}

function findItems(schemas: readonly JsonSchema[]): Items {
  let known = knownItems.get(schemas);
  if (known === undefined) {
    const items = schemas.flatMap((each) => (each.items === undefined ? [] : listAlternatives(each.items)));
    known = {
      items,
      most: findGreatest(schemas.filter((each) => each.items !== undefined).map(({ maxItems }) => maxItems)),
    };
    knownItems.set(schemas, known);
  }
  return known;
}

/** Infinity if one of them has no limit. */
function findGreatest(bounds: readonly (number | undefined)[]): number {
  return Math.max(...bounds.map((bound) => bound ?? Number.POSITIVE_INFINITY));
}

function findMembers(schemas: readonly JsonSchema[]): Members {
  let members = knownMembers.get(schemas);
  if (members === undefined) {
    members = collectMembers(schemas);
    knownMembers.set(schemas, members);
  }
  return members;
}

function collectMembers(schemas: readonly JsonSchema[]): Members {
  const objects = schemas.filter(
    ({ properties, additionalProperties }) => properties ?? additionalProperties,
  );
  const names = new Set(objects.flatMap(({ properties = {} }) => Object.keys(properties)));
  const isRequired = (name: string) => objects.some(({ required = [] }) => required.includes(name));
  const named = new Map<string, Member>();
  for (const name of names) {
    const ofName = objects.flatMap((each) => {
      const member = each.properties?.[name];
      return member === undefined ? [] : listAlternatives(member);
    });
    named.set(name, { schemas: ofName, mayBeLeftOut: !isRequired(name) && !ofName.some(takesNull) });
  }
  const values = objects.flatMap(({ additionalProperties: each }) =>
    typeof each === 'object' ? listAlternatives(each) : [],
  );
  return {
    named,
    others: values.length === 0 ? undefined : { schemas: values, mayBeLeftOut: false },
    isOpen: objects.some(({ additionalProperties }) => additionalProperties === true),
    isFree: objects.length === 0,
    most: findGreatest(objects.map(({ maxProperties }) => maxProperties)),
  };
}

function takesNull({ type, enum: words, const: only }: JsonSchema): boolean {
  if (type !== undefined) return type === 'null' || type.includes('null');
  if (words !== undefined) return words.includes(null);
  return only === undefined || only === null;
}
