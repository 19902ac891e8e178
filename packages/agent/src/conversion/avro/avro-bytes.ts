/** Reads the primitive values of Avro's binary encoding from a block of bytes. */
import { isUtf8 } from 'node:buffer';
import { FileFault } from '../file-fault.ts';

export class AvroBytes {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.byteLength - this.at;
  }

  /** Moves over `length` bytes and returns where they begin. */
  skip(length: number): number {
    if (length < 0 || length > this.left)
      throw new FileFault(`a value has ${length} bytes, and its block has ${this.left} more`);
    const from = this.at;
    this.at += length;
    return from;
  }

  /** A number, or a bigint if it is not a safe integer. */
  readLong(): number | bigint {
    let value = 0;
    let shift = 1;
    for (let count = 0; count < 4; count += 1) {
      const byte = this.#next();
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      shift *= 128;
    }
    return this.#readLongSlowly(BigInt(value));
  }

  #readLongSlowly(start: bigint): number | bigint {
    let value = start;
    for (let bits = 28n; bits < 70n; bits += 7n) {
      const byte = this.#next();
      value |= BigInt(byte & 0x7f) << bits;
      if (byte >= 0x80) continue;
      if (value >= 1n << 64n) break;
      const long = (value >> 1n) ^ -(value & 1n);
      const number = Number(long);
      return Number.isSafeInteger(number) ? number : long;
    }
    throw new FileFault('a number has more than 64 bits');
  }

  #next(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new FileFault('a value goes on after the end of its block');
    this.at += 1;
    return byte;
  }

  readByte(): number {
    return this.#next();
  }

  /** @throws FileFault unless it fits into 32 bits */
  readInt(): number {
    const value = this.readLong();
    if (typeof value === 'number' && value >= -2_147_483_648 && value <= 2_147_483_647) return value;
    throw new FileFault(`${value} is not an int of 32 bits`);
  }

  /** Of bytes, or of items. */
  readLength(): number {
    const value = this.readLong();
    if (typeof value === 'number' && value >= 0) return value;
    throw new FileFault(`a length is ${value}`);
  }

  readText(): string {
    const length = this.readLength();
    const from = this.skip(length);
    const text = this.bytes.toString('utf8', from, from + length);
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(from, from + length)))
      throw new FileFault('a string has bytes that are no character in UTF-8');
    return text;
  }
}
