/**
 * Writes each record of a JSON file on a line of its own, so that the warehouse takes memory for the longest record and
 * not for the longest that may come. Only brackets, strings and numbers are looked at: the warehouse judges the rest.
 */
import { type JsonRecords, PermanentFault } from '@headgate/pipelines';

/** Bytes of one record. */
const recordLimit = 128 * 1_048_576;
/** Characters of a number that may have to become a text. */
const numberLimit = 1_000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const open = 0x5b;
const close = 0x5d;
const brace = 0x7b;
const endBrace = 0x7d;
const [feed, back] = [10, 13];
/** 1 for each byte of the text. */
function mapBytes(text: string): Uint8Array {
  const map = new Uint8Array(256);
  for (const byte of Buffer.from(text)) map[byte] = 1;
  return map;
}
const blanks = mapBytes(' \t\n\r');
const numberBytes = mapBytes('0123456789+-.eE');
/** How a number begins. */
const firstBytes = mapBytes('0123456789-');
const mark = Buffer.from('\ufeff');
const [endOfRecord, space] = [Buffer.from('\n'), Buffer.from(' ')];

/** A record: between records, in one that brackets enclose, in a text, or in another value. */
type Place = 'between' | 'nested' | 'text' | 'plain';

export class RecordLines {
  readonly #reading: JsonRecords;
  #place: Place = 'between';
  /** Brackets that are open in the record. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether records stand in an array, and what may come next there. */
  #array: 'none' | 'first' | 'element' | 'comma' = 'none';
  #held: Buffer = Buffer.alloc(0);
  #read = 0;
  #length = 0;
  /** Bytes of the longest record. */
  longest = 0;
  /** Where the first record begins. */
  readonly at = 0;
  /** Where the record is that is read. */
  #record = 0;

  constructor(reading: JsonRecords) {
    this.#reading = reading;
  }

  /** @throws PermanentFault */
  take(chunk: Buffer, isLast: boolean): Buffer {
    let bytes = this.#held.byteLength === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = Buffer.alloc(0);
    if (this.#read === 0 && !isLast && bytes.byteLength < mark.byteLength) {
      this.#held = bytes;
      return Buffer.alloc(0);
    }
    if (this.#read === 0 && bytes.subarray(0, mark.byteLength).equals(mark)) {
      bytes = bytes.subarray(mark.byteLength);
      this.#read = mark.byteLength;
    }
    const parts: Buffer[] = [];
    let from = 0;
    let at = 0;
    const put = (part: Buffer) => {
      parts.push(part);
      this.#length += part.byteLength;
      if (this.#length > recordLimit)
        throw new PermanentFault(
          `its record ${this.#record} has more than ${recordLimit / 1_048_576} MiB: write each record on a line of its own, or set "stripOuterArray" to Yes if it is an array of records`,
        );
    };
    const end = (to: number) => {
      put(bytes.subarray(from, to));
      parts.push(endOfRecord);
      this.longest = Math.max(this.longest, this.#length);
      this.#length = 0;
      this.#place = 'between';
      if (this.#array !== 'none') this.#array = 'comma';
      from = to;
    };
    while (at < bytes.byteLength) {
      const byte = bytes[at] as number;
      if (this.#place === 'between') {
        from = at;
        if (blanks[byte] !== 1 && this.#begins(byte, this.#read + at)) {
          this.#record += 1;
          this.#place = byte === brace || byte === open ? 'nested' : byte === quote ? 'text' : 'plain';
          this.#depth = this.#place === 'nested' ? 1 : 0;
          this.#isInString = this.#place === 'text';
          // A number is looked at again.
          if (this.#place === 'plain') continue;
        } else from = at + 1;
        at += 1;
        continue;
      }
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) {
          this.#isInString = false;
          if (this.#place === 'text') end(at + 1);
        }
        at += 1;
        continue;
      }
      if (this.#place === 'plain' && (blanks[byte] === 1 || byte === comma || byte === close)) {
        end(at);
        continue;
      }
      if (firstBytes[byte] === 1 && this.#reading.keepsDigits) {
        let next = at + 1;
        while (next < bytes.byteLength && numberBytes[bytes[next] as number] === 1) next += 1;
        if (next - at > numberLimit)
          throw new PermanentFault(
            `its record ${this.#record} has a number of more than ${numberLimit} characters: write it as a text`,
          );
        if (next === bytes.byteLength && !isLast) {
          put(bytes.subarray(from, at));
          this.#held = Buffer.from(bytes.subarray(at));
          this.#read += at;
          return Buffer.concat(parts);
        }
        if (next - at > 3 && losesDigits(bytes, at, next)) {
          put(bytes.subarray(from, at));
          put(Buffer.from(`"${bytes.toString('latin1', at, next)}"`));
          from = next;
        }
        at = next;
        continue;
      }
      if (byte === quote) this.#isInString = true;
      else if (byte === brace || byte === open) this.#depth += 1;
      else if (byte === endBrace || byte === close) {
        this.#depth -= 1;
        if (this.#depth <= 0 && this.#place === 'nested') end(at + 1);
      } else if (byte === feed || byte === back) {
        put(bytes.subarray(from, at));
        put(space);
        from = at + 1;
      }
      at += 1;
    }
    this.#read += at;
    if (this.#place !== 'between') put(bytes.subarray(from, at));
    if (isLast) this.#finish(parts);
    return Buffer.concat(parts);
  }

  /** Whether a record begins here. @throws PermanentFault */
  #begins(byte: number, at: number): boolean {
    if (this.#array === 'none') {
      if (byte !== open || !this.#reading.stripsOuterArray) return true;
      this.#array = 'first';
      return false;
    }
    if (byte === close && this.#array !== 'element') {
      this.#array = 'none';
      return false;
    }
    if ((byte === comma) !== (this.#array === 'comma') || byte === close)
      throw new PermanentFault(
        `it is no JSON: byte ${at + 1}, in the array after record ${this.#record}, is ${JSON.stringify(String.fromCharCode(byte))}, where ${this.#array === 'comma' ? 'a comma or ] is' : 'a record is'} expected`,
      );
    if (byte !== comma) return true;
    this.#array = 'element';
    return false;
  }

  /** The warehouse says what is wrong with a record that does not end. */
  #finish(parts: Buffer[]): void {
    if (this.#place !== 'between') {
      parts.push(endOfRecord);
      this.longest = Math.max(this.longest, this.#length);
      return;
    }
    if (this.#array !== 'none')
      throw new PermanentFault(
        `it is no JSON: its array of records does not end after record ${this.#record}`,
      );
  }
}

/**
 * Whether a double does not have all digits of a number with a fraction or an exponent. The warehouse keeps those of
 * whole numbers.
 */
function losesDigits(bytes: Buffer, from: number, to: number): boolean {
  let hasExponent = false;
  for (let at = from; at < to && !hasExponent; at += 1)
    hasExponent = bytes[at] === 0x65 || bytes[at] === 0x45;
  // No number of up to 15 digits does.
  if (to - from <= 15 && !hasExponent) return false;
  const text = bytes.toString('latin1', from, to);
  if (!/[.eE]/.test(text)) return false;
  const exact = normalize(text);
  return exact !== undefined && exact !== normalize(String(Number(text)));
}

/** The digits without zeros around them, and the exponent; undefined if it is no number. */
function normalize(text: string): string | undefined {
  // bounded: numberLimit characters
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === '') return undefined;
  const digits = `${whole}${fraction}`;
  let [from, to] = [0, digits.length];
  while (digits[from] === '0') from += 1;
  while (to > from && digits[to - 1] === '0') to -= 1;
  if (from === to) return `${sign}0`;
  return `${sign}${digits.slice(from, to)}e${Number(exponent) - fraction.length + (digits.length - to)}`;
}
