/**
 * Masks the secrets of a run in its output.
 *
 * - **part**: a value, and each of its lines, or each text in it if it is a JSON object.
 * - **form**: an encoding of a part: plain, base64 (at each of three alignments), hexadecimal, URL, JSON or
 *   SQL.
 * - **fragment**: a few consecutive characters of a part.
 *
 * A value is found whatever variable or column it passed through, one of 32 characters or more also if up to a fifth
 * of its beginning or end is missing. A text computed from a value (its upper case, its hash, its first half) is not
 * found: the author of a pipeline can always disguise a secret.
 */
import type { Secret } from '@headgate/contract';
import { findWords } from '../occurrences.ts';
import { fragmentLength, hashText, MaskedForms, type Range, type TextHashes } from './masked-forms.ts';

const mask = '***';
/** A shorter value is masked only as a whole word, since it may occur anywhere. */
const shortBelow = fragmentLength;
/** Lines of a value, or texts in it, that are masked each. A file of 64 KiB with keys has some 1,000. */
const partLimit = 2_000;
/** Of all values together, so that the memory for them is bounded. */
const allPartsLimit = 10_000;
/** Tokens that replace each other. At least so many of the newest are masked, at most twice as many. */
const recentTokens = 50;
/** Characters of an error message that are searched, which is more than is ever reported. */
const messageLimit = 100_000;

/** Values with all their forms. */
interface Masked {
  values: Set<string>;
  parts: number;
  forms: MaskedForms;
  /** Texts that are replaced as whole words. */
  words: Set<string>;
}

const createMasked = (): Masked => ({
  values: new Set(),
  parts: 0,
  forms: new MaskedForms(),
  words: new Set(),
});

export class Masking {
  readonly #secrets = createMasked();
  /** The newer and the older half. */
  #tokens = [createMasked(), createMasked()] as [Masked, Masked];

  add(secret: Secret): void {
    addValue(this.#secrets, secret.reveal());
  }

  /** A token replaces earlier ones in the course of a long run: the oldest are no longer masked. */
  addToken(token: Secret): void {
    const value = token.reveal();
    const [newer] = this.#tokens;
    if (newer.values.size >= recentTokens && !newer.values.has(value)) this.#tokens = [createMasked(), newer];
    addValue(this.#tokens[0], value);
  }

  /** Replaces each form of each value. */
  mask(text: string): string {
    return this.#isEmpty ? text : replaceRanges(text, this.#findRanges(hashText(text)));
  }

  /** Replaces fragments too, since error messages may quote a part of a value. */
  conceal(message: string): string {
    if (this.#isEmpty) return message;
    const hashes = hashText(message.slice(0, messageLimit));
    const found = this.#findRanges(hashes);
    for (const { forms } of this.#all()) addRanges(found, forms.findFragments(hashes));
    return replaceRanges(hashes.text, found);
  }

  get #isEmpty(): boolean {
    return this.#all().every(({ values }) => values.size === 0);
  }

  #all(): Masked[] {
    return [this.#secrets, ...this.#tokens];
  }

  #findRanges(hashes: TextHashes): Range[] {
    const found: Range[] = [];
    for (const { forms, words } of this.#all()) {
      if (!forms.isEmpty) addRanges(found, forms.findForms(hashes));
      for (const word of words) addRanges(found, findWordRanges(hashes.text, word));
    }
    return found;
  }
}

/** @throws Error if there are too many lines or texts */
function addValue(masked: Masked, value: string): void {
  if (masked.values.has(value)) return;
  const parts = listParts(value);
  if (masked.parts + parts.size > allPartsLimit)
    throw new Error(
      `the secrets of this run have more than ${allPartsLimit} lines or texts, which is what can be masked: use fewer secrets, or shorter ones`,
    );
  if (value !== '') masked.values.add(value);
  masked.parts += parts.size;
  if (value.length > 0 && value.length < shortBelow) masked.words.add(value);
  for (const part of parts) {
    for (const form of new Set(listForms(part))) masked.forms.add(form);
    // The fragments of its lines are those of the value.
    const isInside = part !== value && value.includes(part);
    for (const form of new Set([part, ...listQuotedForms(part)]))
      if (!isInside) masked.forms.addFragments(form);
  }
}

const letter = /^[\p{L}\p{N}]$/u;

function* findWordRanges(text: string, word: string): Generator<Range> {
  for (const at of findWords(text, word, letter)) yield [at, at + word.length];
}

/** Ranges in the order of their beginnings. Those that overlap become one. */
function addRanges(ranges: Range[], found: Iterable<Range>): void {
  let last: Range | undefined;
  for (const range of found) {
    if (last !== undefined && range[0] <= last[1]) last[1] = Math.max(last[1], range[1]);
    else {
      last = range;
      ranges.push(last);
    }
  }
}

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
  if (/^[\w.-]*$/.test(part)) return [];
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
