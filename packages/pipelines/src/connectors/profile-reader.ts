/** Reads members of a profile and collects what is wrong with them. */
import { findNearestName } from '../format/nearest.ts';
import { shorten } from '../format/template.ts';
import { connectorNameLimit, pathDepthLimit, profileFindingLimit } from './bounds.ts';
import type { ProfileFinding } from './profile.ts';

export type JsonMap = Readonly<Record<string, unknown>>;

export interface Findings {
  readonly list: readonly ProfileFinding[];
  add(path: string, message: string): void;
}

export function createFindings(): Findings {
  const list: ProfileFinding[] = [];
  return {
    list,
    add(path, message) {
      if (list.length < profileFindingLimit) list.push({ path, message });
    },
  };
}

export function isJsonMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Compares words without regard to case, blanks, `-` and `_`. */
export const foldWord = (word: string): string => word.toLowerCase().replaceAll(/[\s_.-]/g, '');

/** A map of the profile with its place. Every method reports what it refuses and returns a usable value. */
export interface MemberReader {
  readonly map: JsonMap;
  at(member: string): string;
  has(member: string): boolean;
  refuse(member: string, message: string): void;
  text(member: string): string | undefined;
  requiredText(member: string): string;
  yes(member: string, otherwise: boolean): boolean;
  whole(member: string, least: number): number | undefined;
  /** A list; absent and null are empty. */
  list(member: string, limit: number): readonly unknown[];
  child(member: string): MemberReader | undefined;
  /** A word of a table; `words` has other spellings. */
  word<T extends string>(member: string, words: Readonly<Record<string, T>>): T | undefined;
  /** A path: `a.b.c`, or a list of names. */
  path(member: string): readonly string[] | undefined;
}

export function createMemberReader(map: JsonMap, place: string, findings: Findings): MemberReader {
  const at = (member: string) => (place === '' ? member : `${place}.${member}`);
  const refuse = (member: string, message: string) => findings.add(at(member), message);
  const get = (member: string) => {
    const value = Object.hasOwn(map, member) ? map[member] : undefined;
    return value === null ? undefined : value;
  };
  const reader: MemberReader = {
    map,
    at,
    refuse,
    has: (member) => get(member) !== undefined,
    text(member) {
      const value = get(member);
      if (value === undefined || typeof value === 'string') return value;
      if (typeof value === 'number' || typeof value === 'boolean') return String(value);
      refuse(member, 'must be a text');
      return undefined;
    },
    requiredText(member) {
      const text = reader.text(member);
      if (text === undefined ? !reader.has(member) : text.trim() === '')
        refuse(member, 'is missing: fill it in');
      if (text !== undefined && text.length > connectorNameLimit)
        refuse(member, `has ${text.length} characters; the limit is ${connectorNameLimit}: shorten it`);
      return text ?? '';
    },
    yes(member, otherwise) {
      const value = get(member);
      if (value === undefined) return otherwise;
      if (value === true || foldWord(String(value)) === 'true') return true;
      if (value === false || foldWord(String(value)) === 'false') return false;
      refuse(member, 'must be true or false');
      return otherwise;
    },
    whole: (member, least) => readWhole(reader, member, get(member), least),
    list(member, limit) {
      const value = get(member);
      if (value === undefined) return [];
      if (!Array.isArray(value)) {
        refuse(member, 'must be a list');
        return [];
      }
      if (value.length > limit) refuse(member, `has ${value.length} elements; the limit is ${limit}`);
      return value.slice(0, limit);
    },
    child(member) {
      const value = get(member);
      if (value === undefined) return undefined;
      if (isJsonMap(value)) return createMemberReader(value, at(member), findings);
      refuse(member, 'must be an object');
      return undefined;
    },
    word: (member, words) => readWord(reader, member, words),
    path: (member) => readPath(reader, member, get(member)),
  };
  return reader;
}

function readWhole(reader: MemberReader, member: string, value: unknown, least: number): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value.trim()) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= least) return number;
  reader.refuse(member, `must be a whole number from ${least} on`);
  return undefined;
}

function readWord<T extends string>(
  reader: MemberReader,
  member: string,
  words: Readonly<Record<string, T>>,
): T | undefined {
  const text = reader.text(member);
  if (text === undefined) return undefined;
  const folded = foldWord(text);
  const found = Object.entries(words).find(([word]) => foldWord(word) === folded);
  if (found !== undefined) return found[1];
  const known = [...new Set(Object.values(words))];
  const nearest = findNearestName(text, known);
  reader.refuse(
    member,
    `is "${shorten(text)}": ${nearest === undefined ? `use one of ${known.join(', ')}` : `did you mean "${nearest}"?`}`,
  );
  return undefined;
}

function readPath(reader: MemberReader, member: string, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const segments = typeof value === 'string' ? splitPath(value) : value;
  if (!Array.isArray(segments) || segments.some((segment) => typeof segment !== 'string')) {
    reader.refuse(member, 'must be a list of names, or a text such as "data.items"');
    return undefined;
  }
  if (segments.length > pathDepthLimit) {
    reader.refuse(member, `has ${segments.length} names; the limit is ${pathDepthLimit}`);
    return undefined;
  }
  return segments;
}

/** `$.data.items`, `/data/items` and `data.items` name the same member. */
function splitPath(text: string): string[] {
  const separator = text.startsWith('/') ? '/' : '.';
  const trimmed = text.replace(/^(\$\.?|\/)/, '');
  return trimmed === '' ? [] : trimmed.split(separator);
}
