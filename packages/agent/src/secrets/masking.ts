/**
 * Keeps the secrets that a run was given out of what it says.
 *
 * Terminology
 *   part       a value; and, where it has several lines or is a JSON object, each line and each text in it
 *   form       a way to write a part down: as it is, in base64 (at each of its three alignments), hexadecimal, URL, JSON and SQL form
 *   fragment   some characters of a part in a row
 *
 * Found is what equals a value, whatever variable or column it came through. What is computed from a value (its upper case, its hash, its first
 * half) is not: who writes pipelines can always take a secret apart.
 */
import type { Secret } from '@headgate/contract';

const mask = '***';
/** A shorter value is found as a whole word only: its characters are everywhere. */
const shortBelow = 4;
/** So many characters in a row are not left of a value in the message of an error. */
const fragmentLength = 4;
/** Characters of an error's message that are looked at; more than are told of it. */
const messageLimit = 100_000;

export class Masking {
  /** What is replaced wherever it is. */
  readonly #forms = new Set<string>();
  /** What is replaced where it stands alone. */
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

  /** The text with each form of each value replaced. */
  mask(text: string): string {
    if (this.#forms.size === 0 && this.#words.size === 0) return text;
    return replaceRanges(text, this.#findRanges(text));
  }

  /** For messages of errors, which may quote a part of what they are about: fragments are replaced, too. */
  conceal(message: string): string {
    const text = message.slice(0, messageLimit);
    const found = this.#findRanges(text);
    for (let at = 0; at + fragmentLength <= text.length; at += 1)
      if (this.#fragments.has(text.slice(at, at + fragmentLength))) found.push([at, at + fragmentLength]);
    return replaceRanges(text, found);
  }

  /** Whether some value is in the text. */
  hasSecret(text: string): boolean {
    return this.mask(text) !== text;
  }

  #findRanges(text: string): Range[] {
    const found: Range[] = [];
    for (const form of this.#forms)
      for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1))
        found.push([at, at + form.length]);
    for (const word of this.#words) {
      const alone = new RegExp(`(?<![\\p{L}\\p{N}])${escapeWord(word)}(?![\\p{L}\\p{N}])`, 'gu');
      for (const { index } of text.matchAll(alone)) found.push([index, index + word.length]);
    }
    return found;
  }
}

function escapeWord(word: string): string {
  return Array.from(word, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('');
}

type Range = [from: number, to: number];

/** The text with a mask in place of each run of ranges that touch. */
function replaceRanges(text: string, ranges: Range[]): string {
  let result = '';
  let end = 0;
  for (const [from, to] of ranges.sort(([one], [other]) => one - other)) {
    if (from > end || result === '') result += text.slice(end, from) + mask;
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}

function listParts(value: string): Set<string> {
  const parts = [value, ...value.split(/[\r\n]+/).map((line) => line.trim()), ...collectTexts(value)];
  return new Set(parts.filter((part) => part.length >= shortBelow));
}

/** The texts of a JSON object, however deep. */
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

/** As a text stands inside of the quotes of another language. */
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

/** As URLs hold it: programs differ in what they escape, in how they write a space, and in the case of the digits. */
function listUrlForms(part: string): string[] {
  const component = encodeURIComponent(part);
  // RFC 3986 reserves these, and encodeURIComponent leaves them.
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

/** The characters of base64 that only the part decides when so many bytes (of each three) come before it. */
function encodeInsideBase64(bytes: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
}
