/** Turns the bytes of an object into the bytes of a file that the warehouse reads, within bounds. */
import { Transform, type TransformCallback } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { type ObjectReading, PermanentFault } from '@headgate/pipelines';
import { RecordLines } from './json-records.ts';

type Stream = Exclude<ObjectReading['compression'], 'auto' | 'none' | 'zip'>;

const decompressors: Readonly<Record<Stream, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  zstd: createZstdDecompress,
  brotli: createBrotliDecompress,
  deflate: createInflate,
  'raw-deflate': createInflateRaw,
};

/** First bytes of compressed files. Brotli and deflate have none. */
const marks: readonly (readonly [mark: string, ObjectReading['compression']])[] = [
  ['1f8b', 'gzip'],
  ['28b52ffd', 'zstd'],
  ['504b0304', 'zip'],
];
export const markBytes = 4;

/** Compressions that are known and not supported. */
const others: readonly (readonly [mark: string, name: string])[] = [
  ['425a68', 'bzip2'],
  ['fd377a58', 'xz'],
  ['ff060000', 'snappy'],
  ['894c5a4f', 'lzo'],
];

/** @param start the first bytes of the object. @throws PermanentFault */
export function findCompression(
  stated: ObjectReading['compression'],
  start: Buffer,
): Exclude<ObjectReading['compression'], 'auto'> {
  if (stated !== 'auto') return stated;
  const hex = start.toString('hex');
  const other = others.find(([mark]) => hex.startsWith(mark))?.[1];
  if (other !== undefined)
    throw new PermanentFault(`it is compressed by ${other}, which is not supported: use gzip or zstd`);
  const found = marks.find(([mark]) => hex.startsWith(mark))?.[1] ?? 'none';
  return found === 'auto' ? 'none' : found;
}

export interface UnpackBounds {
  /** Of one file, unpacked. */
  fileBytes: number;
}

/** Bytes from which the ratio is judged, and the largest one. Gzip reaches 1,030, and data of tables hardly 100. */
const judgedBytes = 64 * 1_048_576;
const ratioLimit = 500;

export interface Counted {
  bytes: number;
}

/** Streams in order. `packed` counts the bytes that came so far. */
export function createUnpacking(
  compression: Exclude<ObjectReading['compression'], 'auto' | 'zip'>,
  { encoding, replacesInvalid, recordEnd, records }: Omit<ObjectReading, 'compression'>,
  packed: Counted,
  { fileBytes }: UnpackBounds,
): { streams: NodeJS.ReadWriteStream[]; unpacked: Counted; lines: Pick<LineMeter, 'longest' | 'at'> } {
  const unpacked: Counted = { bytes: 0 };
  const lines = createLineMeter();
  const streams: NodeJS.ReadWriteStream[] = [];
  if (compression !== 'none') streams.push(decompressors[compression]());
  streams.push(
    createCheck((chunk) => {
      unpacked.bytes += chunk.byteLength;
      if (unpacked.bytes > fileBytes)
        throw new PermanentFault(
          `it has more than ${Math.round(fileBytes / 1_048_576)} MiB when it is unpacked, which is the limit of one file: divide it`,
        );
      if (unpacked.bytes > judgedBytes && unpacked.bytes > packed.bytes * ratioLimit)
        throw new PermanentFault(
          `it grows to more than ${ratioLimit} times its size when it is unpacked, as a zip bomb does: unpack it before`,
        );
    }),
  );
  if (encoding !== undefined || replacesInvalid)
    streams.push(createTranscoding(encoding ?? 'utf-8', !replacesInvalid));
  if (recordEnd !== undefined) streams.push(createRecordEnds(recordEnd));
  if (records === undefined) {
    streams.push(createCheck(lines.take));
    return { streams, unpacked, lines };
  }
  const written = new RecordLines(records);
  streams.push(createRecordLines(written));
  return { streams, unpacked, lines: written };
}

function createCheck(check: (chunk: Buffer) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      attempt(done, () => {
        check(chunk);
        return chunk;
      });
    },
  });
}

/** @throws PermanentFault about what is no character, if that is fatal */
function createTranscoding(encoding: string, isFatal: boolean): Transform {
  const decoder = new TextDecoder(encoding, { fatal: isFatal });
  const decode = (chunk: Buffer | undefined) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }), 'utf8');
    } catch {
      throw new PermanentFault(
        `it has bytes that are no character in ${encoding}: correct "encodingType", or set "replaceInvalidCharacters" to Yes`,
      );
    }
  };
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => attempt(done, () => decode(chunk)),
    flush: (done) => attempt(done, () => decode(undefined)),
  });
}

/** @throws PermanentFault about a line break that is in a value */
function createRecordEnds(recordEnd: string): Transform {
  const mark = Buffer.from(recordEnd);
  const feed = Buffer.from('\n');
  let rest: Buffer = Buffer.alloc(0);
  const split = (chunk: Buffer, isLast: boolean) => {
    const bytes = Buffer.concat([rest, chunk]);
    const parts: Buffer[] = [];
    let at = 0;
    for (let end = bytes.indexOf(mark); end >= 0; end = bytes.indexOf(mark, at)) {
      parts.push(requireWithoutBreaks(bytes.subarray(at, end)), feed);
      at = end + mark.byteLength;
    }
    // The mark may go on in the next part.
    const held = isLast ? 0 : Math.min(mark.byteLength - 1, bytes.byteLength - at);
    parts.push(requireWithoutBreaks(bytes.subarray(at, bytes.byteLength - held)));
    rest = Buffer.from(bytes.subarray(bytes.byteLength - held));
    return Buffer.concat(parts);
  };
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => attempt(done, () => split(chunk, false)),
    flush: (done) => attempt(done, () => split(Buffer.alloc(0), true)),
  });
}

const createRecordLines = (records: RecordLines) =>
  new Transform({
    transform: (chunk: Buffer, _encoding, done) => attempt(done, () => records.take(chunk, false)),
    flush: (done) => attempt(done, () => records.take(Buffer.alloc(0), true)),
  });

function requireWithoutBreaks(bytes: Buffer): Buffer {
  if (!bytes.includes(10) && !bytes.includes(13)) return bytes;
  throw new PermanentFault(
    'it has line breaks within rows that end with "recordDelimiter": enclose such values and end rows with \\n',
  );
}

function attempt(done: TransformCallback, work: () => Buffer): void {
  let result: Buffer;
  try {
    result = work();
  } catch (error) {
    done(error as Error);
    return;
  }
  done(null, result);
}

export interface LineMeter {
  take(chunk: Buffer): void;
  /** Bytes of the longest line that ends in another chunk than it begins in. */
  readonly longest: number;
  /** Where it begins. */
  readonly at: number;
}

/** Finds lines that are longer than a chunk, without looking at each line. */
function createLineMeter(): LineMeter {
  let total = 0;
  let sinceEnd = 0;
  let longest = 0;
  let at = 0;
  const note = (length: number, begin: number) => {
    if (length <= longest) return;
    longest = length;
    at = begin;
  };
  return {
    take(chunk) {
      const first = findEnd(chunk);
      if (first < 0) sinceEnd += chunk.byteLength;
      else {
        note(sinceEnd + first, total - sinceEnd);
        const last = Math.max(chunk.lastIndexOf(10), chunk.lastIndexOf(13));
        sinceEnd = chunk.byteLength - last - 1;
      }
      total += chunk.byteLength;
      note(sinceEnd, total - sinceEnd);
    },
    get longest() {
      return longest;
    },
    get at() {
      return at;
    },
  };
}

function findEnd(chunk: Buffer): number {
  const [feed, back] = [chunk.indexOf(10), chunk.indexOf(13)];
  if (feed < 0 || back < 0) return Math.max(feed, back);
  return Math.min(feed, back);
}

/** Whether an error says that compressed bytes are damaged. */
export const isPackingFault = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  /^Z_|^ERR_.*BROTLI|^ERR__ERROR|^ZSTD_/.test(code);
