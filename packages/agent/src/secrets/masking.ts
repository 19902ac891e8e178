/**
 * Masks the secrets of a run in its output.
 *
 * - **part**: a value, and each of its lines, or each text in it if it is a JSON object.
 * - **form**: an encoding of a part: plain, base64 (at each of three alignments), hexadecimal, URL, JSON or
 *   SQL.
 * - **fragment**: a few consecutive characters of a part.
 *
 * A value is found whatever variable or column it passed through. A text computed from a value (its upper
 * case, its hash, its first half) is not found: the author of a pipeline can always disguise a secret.
 */
import type { Secret } from '@headgate/contract';
import { findOccurrences, findWords } from '../occurrences.ts';

const mask = '***';
/** A shorter value is masked only as a whole word, since it may occur anywhere. */
const shortBelow = 4;
/** The length of the fragments that are masked in error messages. */
const fragmentLength = 4;
/** Lines of a value, or texts in it, that are masked each. A file of 64 KiB with keys has some 1,000. */
const partLimit = 2_000;
/** Characters of an error message that are searched, which is more than is ever reported. */
const messageLimit = 100_000;

export class Masking {
  /** Texts that are replaced anywhere. */
  readonly #forms = new Set<string>();
  /** Texts that are replaced as whole words. */
  readonly #words = new Set<string>();
  readonly #fragments = new Set<string>();

  add(secret: Secret): void {
    const value = secret.reveal();
    if (value.length > 0 && value.length < shortBelow) this.#words.add(value);
    for (const part of listParts(value)) {
      for (const form of listForms(part)) this.#forms.add(form);
      for (const form of [part, ...listQuotedForms(part)])
        for (let at = 0; at + fragmentLength <= form.length; at += 1)
          this.#fragments.add(form.slice(at, at + fragmentLength));
    }
  }

  /** Replaces each form of each value. */
  mask(text: string): string {
    if (this.#forms.size === 0 && this.#words.size === 0) return text;
    return replaceRanges(text, this.#findRanges(text));
  }

  /** Replaces fragments too, since error messages may quote a part of a value. */
  conceal(message: string): string {
    const text = message.slice(0, messageLimit);
    if (this.#fragments.size === 0) return this.mask(text);
    const found = this.#findRanges(text);
    for (let at = 0; at + fragmentLength <= text.length; at += 1)
      if (this.#fragments.has(text.slice(at, at + fragmentLength))) found.push([at, at + fragmentLength]);
    return replaceRanges(text, found);
  }

  #findRanges(text: string): Range[] {
    const found: Range[] = [];
    for (const form of this.#forms) addRanges(found, findOccurrences(text, form), form.length);
    for (const word of this.#words) addRanges(found, findWords(text, word, letter), word.length);
    return found;
  }
}

const letter = /^[\p{L}\p{N}]$/u;

/** Adds ranges of one length. Those that overlap become one. */
function addRanges(ranges: Range[], positions: Iterable<number>, length: number): void {
  let last: Range | undefined;
  for (const at of positions) {
    if (last !== undefined && at <= last[1]) last[1] = at + length;
    else {
      last = [at, at + length];
      ranges.push(last);
    }
  }
}

type Range = [from: number, to: number];

/** Replaces each group of adjacent or overlapping ranges by one mask. */
function replaceRanges(text: string, ranges: Range[]): string {
  let result = '';
  let end = 0;
  for (const [from, to] of ranges.sort(([one], [other]) => one - other)) {
    if (from > end || result === '') result += text.slice(end, from) + mask;
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}

/** @throws Error if there are too many to search each text for all of them */
function listParts(value: string): Set<string> {
  const parts = [value, ...value.split(/[\r\n]+/).map((line) => line.trim()), ...collectTexts(value)];
  const long = new Set(parts.filter((part) => part.length >= shortBelow));
  if (long.size > partLimit)
    throw new Error(
      `a secret has ${long.size} lines or texts; at most ${partLimit} can be masked: divide it into several secrets`,
    );
  return long;
}

/** All texts in a JSON object, at any depth. */
function collectTexts(value: string): string[] {
  if (!value.trimStart().startsWith('{')) return [];
  const texts: string[] = [];
  try {
    JSON.parse(value, (_, member) => {
      if (typeof member === 'string') texts.push(member);
      return member;
    });
  } catch {
    return [];
  }
  return texts.flatMap((text) => [text, ...text.split(/[\r\n]+/)]);
}

/** The part as it is escaped inside quotes in JSON and SQL. */
function listQuotedForms(part: string): string[] {
  return [JSON.stringify(part).slice(1, -1), part.replaceAll("'", "''"), part.replaceAll('"', '""')];
}

function listForms(part: string): string[] {
  const bytes = Buffer.from(part);
  const hex = bytes.toString('hex');
  const whole = bytes.toString('base64');
  const base64 = [
    whole,
    whole.replaceAll('=', ''),
    ...[0, 1, 2].map((shift) => encodeInsideBase64(bytes, shift)),
  ];
  return [
    part,
    ...listQuotedForms(part),
    ...listUrlForms(part.toWellFormed()),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

/**
 * The URL encodings. Programs differ in the characters they escape, in spaces, and in the case of the digits.
 */
function listUrlForms(part: string): string[] {
  const component = encodeURIComponent(part);
  // RFC 3986 reserves these, but encodeURIComponent does not escape them.
  const strict = component.replaceAll(
    /[!'()*]/g,
    (character) => `%${Buffer.from(character).toString('hex').toUpperCase()}`,
  );
  const forms = [component, strict, encodeURI(part), new URLSearchParams({ x: part }).toString().slice(2)];
  const spaced = [...forms, ...forms.map((form) => form.replaceAll('%20', '+'))];
  return [
    ...spaced,
    ...spaced.map((form) => form.replaceAll(/%[\dA-F]{2}/g, (escaped) => escaped.toLowerCase())),
  ];
}

/** The base64 characters that depend only on the part, if `shift` bytes of a group of three precede it. */
function encodeInsideBase64(bytes: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
}
