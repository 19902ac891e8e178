/** Parses the JSON of requests: valid UTF-8, without duplicate members, and with limits on the structure. */
import { problem } from './problems.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const depthLimit = 64;
/** Per object. */
const memberLimit = 10_000;
/**
 * Objects and arrays per body. An empty one takes two bytes to send, but tens of bytes and nanoseconds to
 * store and validate.
 */
const containerLimit = 200_000;
/**
 * Distinct member names per body. V8 stores objects with unique names at about a hundred times the cost of
 * others.
 */
const nameLimit = 20_000;
/** Of a body whose members no schema lists. A group of 8 MiB has up to 270,000 values. */
const openValueLimit = 300_000;
/** The same: V8 looks up each text of this length in a table, which takes ten times as long as a number. */
const shortText = 10;
const openShortTextLimit = 100_000;

export interface StructureOptions {
  /** The fault quotes nothing from the body. */
  holdsSecret?: boolean;
  /** No schema lists the members or bounds the arrays: the number of values has a limit too. */
  isOpen?: boolean;
}

/** Throws `invalid-json`. Takes bytes, so that invalid UTF-8 is refused rather than replaced. */
export function readJson(bytes: Uint8Array, options: StructureOptions = {}): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw problem('invalid-json', { reason: 'it is not valid UTF-8' });
  }
  // Checked before parsing, which would take time and memory for a structure that is over the limits.
  const fault = findStructureFault(text, options);
  if (fault !== undefined) throw problem('invalid-json', { reason: fault });
  try {
    return JSON.parse(text);
  } catch (failure) {
    const { message } = failure as Error;
    throw problem('invalid-json', {
      reason: options.holdsSecret ? removeContent(message) : message.slice(0, 200),
    });
  }
}

/** V8 quotes the text around an unexpected token. Its other messages name only a position. */
function removeContent(message: string): string {
  const isPlain = message.includes(' at position ') && /^[\w ',}\]()-]*$/.test(message);
  return isPlain || message === 'Unexpected end of JSON input' ? message : 'it has an unexpected character';
}

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Finds what `JSON.parse` accepts: duplicate members, and structures over the limits. Scans the text once.
 * Invalid JSON is left to `JSON.parse`.
 */
export function findStructureFault(
  text: string,
  { holdsSecret = false, isOpen = false }: StructureOptions = {},
): string | undefined {
  const around: (Set<string> | undefined)[] = [];
  let names: Set<string> | undefined;
  let depth = 0;
  let containers = 0;
  const allNames = new Set<string>();
  const open = isOpen ? countOpenValues() : undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      const end = findEndOfString(text, at);
      if (end < 0) return undefined;
      if (isName(text, end)) {
        const name = decodeName(text, at, end);
        names ??= new Set();
        if (names.has(name))
          return `${holdsSecret ? 'a member' : `the member ${JSON.stringify(name).slice(0, 200)}`} occurs twice`;
        names.add(name);
        allNames.add(name);
        if (allNames.size > nameLimit)
          return `it has more than ${formatNumber(nameLimit)} different member names`;
        if (names.size > memberLimit) return `an object has more than ${formatNumber(memberLimit)} members`;
      } else if (end - at <= shortText + 1 && open?.exceedsTexts(text.slice(at + 1, end)))
        return `it has more than ${formatNumber(openShortTextLimit)} different texts of up to ${shortText} characters; send less data in one request`;
      at = end;
    } else if (character === openBrace) {
      depth++;
      containers++;
      around.push(names);
      names = undefined;
    } else if (character === closeBrace) {
      depth--;
      names = around.pop();
    } else if (character === openBracket) {
      depth++;
      containers++;
    } else if (character === closeBracket) depth--;
    else if (character === comma && open?.exceedsValues())
      return `it has more than ${formatNumber(openValueLimit)} values; send less data in one request`;
    if (depth > depthLimit) return `it is nested deeper than ${depthLimit} levels`;
    if (containers > containerLimit)
      return `it has more than ${formatNumber(containerLimit)} objects and arrays; send less data in one request`;
  }
  return undefined;
}

function countOpenValues() {
  const shortTexts = new Set<string>();
  let commas = 0;
  return {
    /** Each comma stands between two values. */
    exceedsValues: () => ++commas >= openValueLimit,
    exceedsTexts: (short: string) => shortTexts.add(short).size > openShortTextLimit,
  };
}

/**
 * The position of the string's closing quote: the next quote after an even number of backslashes. Negative if
 * there is none.
 */
function findEndOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    if (end < 0) return end;
    let before = end;
    while (text.charCodeAt(before - 1) === backslash) before--;
    if ((end - before) % 2 === 0) return end;
  }
}

/** A string followed by a colon is a member name. */
function isName(text: string, end: number): boolean {
  let next = end + 1;
  while (text.charCodeAt(next) <= 0x20) next++;
  return text.charCodeAt(next) === colon;
}

/** Decodes escapes, so that two spellings of the same name are equal. */
function decodeName(text: string, start: number, end: number): string {
  const written = text.slice(start + 1, end);
  if (!written.includes('\\')) return written;
  try {
    return JSON.parse(text.slice(start, end + 1)) as string;
  } catch {
    return written;
  }
}

function formatNumber(number: number): string {
  return number.toLocaleString('en');
}
