/**
 * Takes a multipart form apart as its bytes arrive (RFC 2046 §5.1.1, RFC 7578), without a copy where a part
 * lies in one chunk (docs/adr/0027).
 */
import { tooLarge, unreadable } from './form-problems.ts';
import { partName } from './part-name.ts';

export interface FormPart {
  /** Its header lines, without the empty line that ends them. */
  header: Buffer;
  content: Buffer;
}

export interface FormLimits {
  parts: number;
  partBytes: number;
  /** Whether the content of a part is not wanted. It is then empty, and the part counts for neither limit. */
  isUnwanted?: (header: Buffer, number: number) => boolean;
}

export interface FormParser {
  /** The parts that end in this chunk, in their order. Throws `invalid-upload`, `body-too-large`. */
  write(chunk: Buffer): FormPart[];
  /** After the last chunk. Throws `invalid-upload` when the form has no end. */
  end(): void;
}

const mostHeaderBytes = 16_384;
const lineEnd = '\r\n';
const headerEnd = Buffer.from('\r\n\r\n');
const nothing: Buffer = Buffer.alloc(0);
/** In place of where to read on. */
const needsMore = -1;

/** Before the first delimiter, just behind one, and in the header and the content of a part. */
type State = 'opening' | 'delimited' | 'header' | 'content';

/** @param boundary as in the request's Content-Type, of ASCII */
export function createFormParser(boundary: string, limits: FormLimits): FormParser {
  const delimiter = Buffer.from(`${lineEnd}--${boundary}`, 'latin1');
  let state: State | 'end' = 'opening';
  /**
   * So many bytes of a delimiter ended the chunk before; the line end before the first one is taken as read.
   */
  let begun = lineEnd.length;
  /** What of the chunk before could not be read without this one. */
  let rest: Buffer = nothing;
  let header: Buffer = nothing;
  let pieces: Buffer[] = [];
  let isUnwanted = false;
  let partBytes = 0;
  let parts = 0;
  let wantedParts = 0;
  let ended: FormPart[] = [];

  function append(piece: Buffer): void {
    if (piece.length === 0) return;
    if (state === 'opening') throw unreadable('it does not begin with its boundary');
    if (isUnwanted) return;
    partBytes += piece.length;
    if (partBytes > limits.partBytes) {
      const name = JSON.stringify(partName(header, parts + 1));
      throw tooLarge(`the part ${name} is larger than ${limits.partBytes} bytes`, 'HEADGATE_UPLOAD_PART_MB');
    }
    pieces.push(piece);
  }

  function endPart(): void {
    parts += 1;
    if (!isUnwanted) wantedParts += 1;
    if (wantedParts > limits.parts)
      throw tooLarge(`an upload has at most ${limits.parts} parts`, 'HEADGATE_UPLOAD_PARTS');
    const [piece = nothing] = pieces;
    ended.push({ header, content: pieces.length > 1 ? Buffer.concat(pieces) : piece });
    pieces = [];
    partBytes = 0;
  }

  /** Where the delimiter ends that was begun in the chunk before; `from` when it was none. */
  function readBegun(bytes: Buffer, from: number): number {
    const missing = delimiter.subarray(begun);
    const next = bytes.subarray(from, from + missing.length);
    if (missing.subarray(0, next.length).equals(next)) {
      begun = next.length < missing.length ? begun + next.length : 0;
      return begun > 0 ? needsMore : from + missing.length;
    }
    append(delimiter.subarray(0, begun));
    begun = 0;
    return from;
  }

  function readContent(bytes: Buffer, from: number): number {
    let at = begun > 0 ? readBegun(bytes, from) : from;
    if (at === from) {
      const found = bytes.indexOf(delimiter, from);
      if (found < 0) begun = bytesBegun(bytes, from, delimiter);
      append(bytes.subarray(from, found < 0 ? bytes.length - begun : found));
      at = found < 0 ? needsMore : found + delimiter.length;
    }
    if (at === needsMore) return at;
    if (state === 'content') endPart();
    state = 'delimited';
    return at;
  }

  function readLineEnd(bytes: Buffer, from: number): number {
    const two = bytes.toString('latin1', from, from + 2);
    if (two.length < 2) return keep(bytes, from);
    if (two !== '--' && two !== lineEnd) throw unreadable('a boundary does not end its line');
    state = two === '--' ? 'end' : 'header';
    return from + 2;
  }

  function readHeader(bytes: Buffer, from: number): number {
    const found = bytes.indexOf(headerEnd, from);
    if ((found < 0 ? bytes.length : found) - from > mostHeaderBytes)
      throw unreadable(`the header of the part number ${parts + 1} is longer than ${mostHeaderBytes} bytes`);
    if (found < 0) return keep(bytes, from);
    header = bytes.subarray(from, found);
    isUnwanted = limits.isUnwanted?.(header, parts + 1) === true;
    state = 'content';
    return found + headerEnd.length;
  }

  function keep(bytes: Buffer, from: number): number {
    rest = bytes.subarray(from);
    return needsMore;
  }

  const readers = { opening: readContent, content: readContent, delimited: readLineEnd, header: readHeader };

  return {
    write(chunk) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      rest = nothing;
      ended = [];
      for (let at = 0; state !== 'end' && at !== needsMore; ) at = readers[state](bytes, at);
      return ended;
    },
    end() {
      if (state !== 'end') throw unreadable('it has no end');
    },
  };
}

/**
 * How many bytes at the end of these may be the beginning of a delimiter: only its first one is a carriage
 * return.
 */
function bytesBegun(bytes: Buffer, from: number, delimiter: Buffer): number {
  const first = bytes.indexOf(0x0d, Math.max(from, bytes.length - delimiter.length + 1));
  if (first < 0) return 0;
  const tail = bytes.subarray(first);
  return delimiter.subarray(0, tail.length).equals(tail)
    ? tail.length
    : bytesBegun(bytes, first + 1, delimiter);
}
