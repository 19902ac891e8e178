/**
 * Reads an answer of Snowflake as it comes: the rows one by one, and the rest as a value. So neither a giant answer nor
 * one of a hostile server costs more memory than a row, or holds the agent's loop.
 */
import { setImmediate } from 'node:timers/promises';

export type RawRow = readonly (string | null)[];

/** What a server sent is not read further. `size`: it is too much. */
export class RefusedAnswer extends Error {
  readonly reason: 'size' | 'form';

  constructor(what: string, reason: 'size' | 'form') {
    super(what);
    this.reason = reason;
  }
}

const mebibyte = 1_048_576;
const rowLimit = 64 * mebibyte;
/** Of all but the rows. A result lists its parts, of a kilobyte each. */
const restLimit = 4 * mebibyte;
/** Of an answer or a part, after decompression. */
const answerLimit = 256 * mebibyte;
/** Bytes between two turns of the loop. */
const turnBytes = mebibyte;

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Bytes of JSON outside of texts that change nothing. */
const isPlain = new Uint8Array(256).fill(1);
for (const byte of [quote, colon, openList, closeList, openObject, closeObject]) isPlain[byte] = 0;
/** No name that is looked for is longer. */
const nameLength = 10;

/** The length of the bytes if it is not there. */
function findByte(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from);
  return found < 0 ? bytes.length : found;
}

/** How deep a row lies in an answer: `{"data": {"rowset": [[…]]}}`. */
const rowsDepth = 3;

/** Bytes that are kept until they are whole. */
class Collected {
  readonly #limit: number;
  readonly #what: string;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(limit: number, what: string) {
    this.#limit = limit;
    this.#what = what;
  }

  add(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size > this.#limit)
      throw new RefusedAnswer(`${this.#what} of more than ${this.#limit / mebibyte} MiB`, 'size');
    // A copy, because a part would hold the memory of the whole.
    if (bytes.length > 0) this.#parts.push(Buffer.from(bytes));
  }

  take(): string {
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#size = 0;
    return text;
  }
}

class AnswerReader {
  readonly #onRow: (row: RawRow) => void;
  readonly #row = new Collected(rowLimit, 'a row');
  readonly #rest = new Collected(restLimit, 'an answer');
  #depth: number;
  #isInString = false;
  #isEscaped = false;
  #isInRows: boolean;
  /** The last text at the depth of the names of `data`, and the name before a colon. */
  #text = '';
  #name = '';

  /** @param isPart whether it has rows only, without the brackets around them */
  constructor(isPart: boolean, onRow: (row: RawRow) => void) {
    this.#onRow = onRow;
    this.#isInRows = isPart;
    this.#depth = isPart ? rowsDepth : 0;
  }

  /** What is still open at the end is cut. */
  get isWhole(): boolean {
    return !this.#isInString && (this.#depth === 0 || (this.#isInRows && this.#depth === rowsDepth));
  }

  read(bytes: Buffer): void {
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#isInString) {
        at = this.#passText(bytes, at);
        continue;
      }
      const byte = bytes[at] ?? 0;
      if (byte === quote) {
        this.#beginText();
        at += 1;
        continue;
      }
      if (byte === openList || byte === openObject) from = this.#open(byte, bytes, from, at);
      else if (byte === closeList || byte === closeObject) from = this.#close(bytes, from, at);
      else if (byte === colon && this.#depth === 2) this.#name = this.#text;
      at += 1;
      while (at < bytes.length && isPlain[bytes[at] ?? 0] === 1) at += 1;
    }
    this.#keep(bytes.subarray(from));
  }

  /** Returns where the text ends, or the bytes. A search goes on behind the last one: the time is linear. */
  #passText(bytes: Buffer, start: number): number {
    let at = start;
    let [quoteAt, escapeAt] = [-1, -1];
    while (at < bytes.length) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        at += 1;
        continue;
      }
      if (quoteAt < at) quoteAt = findByte(bytes, quote, at);
      if (escapeAt < at) escapeAt = findByte(bytes, backslash, at);
      const end = Math.min(quoteAt, escapeAt);
      if (this.#depth === 2 && this.#text.length < nameLength)
        this.#text += bytes.subarray(at, Math.min(end, at + nameLength)).toString('latin1');
      at = end + 1;
      if (escapeAt < quoteAt) this.#isEscaped = true;
      else if (quoteAt < bytes.length) {
        this.#isInString = false;
        return at;
      }
    }
    return bytes.length;
  }

  #beginText(): void {
    this.#isInString = true;
    this.#text = '';
  }

  /** Returns where what is not yet kept begins. */
  #open(byte: number, bytes: Buffer, from: number, at: number): number {
    this.#depth += 1;
    if (this.#isInRows) return this.#depth === rowsDepth + 1 ? at : from;
    if (byte !== openList || this.#depth !== rowsDepth || this.#name !== 'rowset') return from;
    this.#rest.add(bytes.subarray(from, at + 1));
    this.#isInRows = true;
    return at + 1;
  }

  #close(bytes: Buffer, from: number, at: number): number {
    this.#depth -= 1;
    if (!this.#isInRows) return from;
    if (this.#depth === rowsDepth) {
      this.#row.add(bytes.subarray(from, at + 1));
      this.#onRow(parseRow(this.#row.take()));
      return at + 1;
    }
    if (this.#depth > rowsDepth) return from;
    this.#isInRows = false;
    this.#name = '';
    return at;
  }

  #keep(bytes: Buffer): void {
    if (!this.#isInRows) this.#rest.add(bytes);
    else if (this.#depth > rowsDepth) this.#row.add(bytes);
  }

  /** @throws RefusedAnswer */
  takeRest(): unknown {
    const text = this.#rest.take();
    try {
      return JSON.parse(text, keepSession as (key: string, value: unknown) => unknown);
    } catch {
      throw new RefusedAnswer('what is not JSON', 'form');
    }
  }
}

/** The number of a session has more digits than a double. */
const keepSession = (key: string, value: unknown, context: unknown): unknown =>
  key === 'sessionId' && typeof value === 'number' ? (context as { source?: string }).source : value;

function parseRow(text: string): RawRow {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch {
    throw new RefusedAnswer('a row that is not JSON', 'form');
  }
  if (!Array.isArray(row) || !row.every((cell) => cell === null || typeof cell === 'string'))
    throw new RefusedAnswer('a row of what is not text', 'form');
  return row;
}

async function readAll(reader: AnswerReader, body: AsyncIterable<Buffer>): Promise<void> {
  let bytes = 0;
  let turn = turnBytes;
  for await (const part of body) {
    reader.read(part);
    bytes += part.length;
    if (bytes > answerLimit) throw new RefusedAnswer(`more than ${answerLimit / mebibyte} MiB`, 'size');
    if (bytes < turn) continue;
    turn = bytes + turnBytes;
    await setImmediate();
  }
  if (!reader.isWhole) throw new RefusedAnswer('a part of an answer', 'form');
}

/** The answer without its rows. @throws RefusedAnswer */
export async function readAnswer(
  body: AsyncIterable<Buffer>,
  onRow: (row: RawRow) => void,
): Promise<unknown> {
  const reader = new AnswerReader(false, onRow);
  await readAll(reader, body);
  return reader.takeRest();
}

/** A part of a result: rows, divided by commas. @throws RefusedAnswer, or what `onRow` throws */
export const readPart = (body: AsyncIterable<Buffer>, onRow: (row: RawRow) => void): Promise<void> =>
  readAll(new AnswerReader(true, onRow), body);
