/**
 * Checks the messages of a PostgreSQL server before the client reads them. The client trusts the server: a message
 * that is not well formed makes it throw outside of any statement, which ends the agent, or read without end.
 */

import { RefusedMessage } from './postgres-errors.ts';

/** The type, and the length of the rest. */
export const headerLength = 5;
const mebibyte = 1024 * 1024;
/** Bytes of a row, and so of a value. */
export const rowLimit = 64 * mebibyte;
/** Of any other message, such as an error. */
const messageLimit = mebibyte;
/** PostgreSQL itself has no more in a query. */
const columnLimit = 1_664;

const codeOf = (letter: string) => letter.charCodeAt(0);
const rowCodes = new Set(['D', 'd'].map(codeOf));
/** They may come at any time, and in any number. */
const noteCodes = new Set(['N', 'S', 'A'].map(codeOf));
const signInCode = codeOf('R');

/** A statement has a few of them. The client keeps something of each. */
export const isControl = (code: number) => !rowCodes.has(code) && !noteCodes.has(code);
export const isSignIn = (code: number) => code === signInCode;

/** @param length of the message with its header. Undefined: it may be read. */
export function findLengthFault(code: number, length: number): RefusedMessage | undefined {
  if (!checks.has(code)) return new RefusedMessage(`a message of the unknown type ${code}`, 'form');
  if (length < headerLength) return new RefusedMessage('a message without a length', 'form');
  const isRow = rowCodes.has(code);
  const limit = isRow ? rowLimit : messageLimit;
  if (length <= limit) return undefined;
  return new RefusedMessage(`a ${isRow ? 'row' : 'message'} of more than ${limit / mebibyte} MiB`, 'size');
}

/** @param message one whole message. Undefined: the client can read it. */
export function findMessageFault(message: Buffer): RefusedMessage | undefined {
  const reader = new BodyReader(message);
  const check = checks.get(message[0] ?? 0);
  try {
    check?.(reader);
    return undefined;
  } catch (fault) {
    if (fault instanceof RefusedMessage) return fault;
    throw fault;
  }
}

class BodyReader {
  readonly #bytes: Buffer;
  #at = headerLength;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get rest(): number {
    return this.#bytes.length - this.#at;
  }

  skip(length: number): void {
    if (length < 0 || length > this.rest)
      throw new RefusedMessage('a message that is not well formed', 'form');
    this.#at += length;
  }

  byte(): number {
    this.skip(1);
    return this.#bytes[this.#at - 1] ?? 0;
  }

  count(limit: number): number {
    this.skip(2);
    const count = this.#bytes.readInt16BE(this.#at - 2);
    if (count < 0 || count > limit) throw new RefusedMessage(`a message with ${count} parts`, 'form');
    return count;
  }

  int32(): number {
    this.skip(4);
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  /** Skips a string that ends with a zero byte. Returns whether it is not empty. */
  string(): boolean {
    const end = this.#bytes.indexOf(0, this.#at);
    const length = end - this.#at;
    this.skip(end < 0 ? -1 : length + 1);
    return length > 0;
  }
}

type Check = (body: BodyReader) => void;

const readNothing: Check = () => undefined;
const readString: Check = (body) => void body.string();

function readRow(body: BodyReader): void {
  const count = body.count(columnLimit);
  for (let column = 0; column < count; column += 1) {
    const length = body.int32();
    if (length !== -1) body.skip(length);
  }
}

function readColumns(body: BodyReader): void {
  const count = body.count(columnLimit);
  for (let column = 0; column < count; column += 1) {
    body.string();
    body.skip(18);
  }
}

/** Fields of one letter and a string, until a zero byte. */
function readFields(body: BodyReader): void {
  while (body.byte() !== 0) body.string();
}

function readCopy(body: BodyReader): void {
  body.skip(1);
  body.skip(2 * body.count(columnLimit));
}

/** By the number of the method. */
const signInChecks: ReadonlyMap<number, Check> = new Map<number, Check>([
  [0, readNothing],
  [3, readNothing],
  [5, (body) => body.skip(4)],
  [
    10,
    (body) => {
      while (body.string());
    },
  ],
  [11, readNothing],
  [12, readNothing],
]);

function readSignIn(body: BodyReader): void {
  const method = body.int32();
  const check = signInChecks.get(method);
  if (check === undefined)
    throw new RefusedMessage(
      `a request to sign in by the method ${method}, which is not supported: use a password`,
      'form',
    );
  check(body);
}

/** By the first byte of a message. */
const checks: ReadonlyMap<number, Check> = new Map(
  Object.entries<Check>({
    1: readNothing,
    2: readNothing,
    3: readNothing,
    n: readNothing,
    s: readNothing,
    c: readNothing,
    I: readNothing,
    d: readNothing,
    D: readRow,
    C: readString,
    Z: (body) => body.skip(1),
    A(body) {
      body.skip(4);
      body.string();
      body.string();
    },
    R: readSignIn,
    S(body) {
      body.string();
      body.string();
    },
    K: (body) => body.skip(8),
    E: readFields,
    N: readFields,
    T: readColumns,
    t: (body) => body.skip(4 * body.count(32_767)),
    G: readCopy,
    H: readCopy,
    W: readCopy,
  }).map(([letter, check]) => [codeOf(letter), check]),
);
