/**
 * Writes lines of JSON to a file, within bounds. A file that is not finished is closed at the end of its thread. A line
 * is built in place: `add` appends to it, and `end` ends it.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { FileFault } from './file-fault.ts';

export interface OutputBounds {
  /** Of the whole file. */
  fileBytes: number;
  /** Of the file that is converted: what grows to many times its size is refused. */
  inputBytes: number;
}

/** Characters of one line: the warehouse reads objects of 128 MiB. */
const lineLimit = 32 * 1_048_576;
/** Characters that are written at once. */
const chunkLength = 1_048_576;
/** As of compressed files. */
const judgedBytes = 64 * 1_048_576;
const ratioLimit = 500;

export class JsonLines {
  readonly #file: number;
  readonly #bounds: OutputBounds;
  #text = '';
  #line = '';
  #bytes = 0;
  rows = 0;
  /** Bytes of the longest line. */
  lineBytes = 0;

  constructor(path: string, bounds: OutputBounds) {
    this.#file = openSync(path, 'w', 0o600);
    this.#bounds = bounds;
  }

  add(part: string): void {
    this.#line += part;
    if (this.#line.length > lineLimit)
      throw new FileFault(
        `its row ${this.rows + 1} has more than ${lineLimit / 1_048_576} MiB as JSON, which is the limit of a row`,
      );
  }

  end(): void {
    this.lineBytes = Math.max(this.lineBytes, Buffer.byteLength(this.#line));
    this.#text += `${this.#line}\n`;
    this.#line = '';
    this.rows += 1;
    if (this.#text.length >= chunkLength) this.#flush();
  }

  #flush(): void {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    this.#bytes += bytes.byteLength;
    const { fileBytes, inputBytes } = this.#bounds;
    if (this.#bytes > fileBytes)
      throw new FileFault(
        `it has more than ${Math.round(fileBytes / 1_048_576)} MiB as JSON, which is the limit of one file: divide it`,
      );
    if (this.#bytes > judgedBytes && this.#bytes > inputBytes * ratioLimit)
      throw new FileFault(
        `it grows to more than ${ratioLimit} times its size, as a zip bomb does, so it is not loaded`,
      );
    for (let at = 0; at < bytes.byteLength; ) at += writeSync(this.#file, bytes, at);
  }

  finish(): void {
    this.#flush();
    closeSync(this.#file);
  }
}
