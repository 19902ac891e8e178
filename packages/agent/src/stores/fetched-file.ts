/** Fetches an object to files on the agent's disk, unpacked and in UTF-8. */
import { createWriteStream } from 'node:fs';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ObjectReading, PermanentFault } from '@headgate/pipelines';
import type { FetchedFile, ObjectStore, StoredObject } from './object-store.ts';
import { readObject } from './read-object.ts';
import type { StoreTime } from './store-calls.ts';
import {
  createUnpacking,
  findCompression,
  isPackingFault,
  markBytes,
  type UnpackBounds,
} from './unpacking.ts';

export interface FetchOptions {
  store: Pick<ObjectStore, 'read'>;
  object: StoredObject;
  reading: ObjectReading;
  /** Makes a file to write to, which is removed unless the fetch succeeds. */
  createFile(): Promise<string>;
  removeFile(path: string): Promise<void>;
  bounds: UnpackBounds;
  time: StoreTime;
  signal: AbortSignal;
}

/** @throws as the store, or PermanentFault about the object, or an error of the disk in words */
export async function fetchObject(options: FetchOptions): Promise<FetchedFile[]> {
  const { object, removeFile, bounds } = options;
  // An archive is whole on the disk before it is unpacked, and a body that breaks off goes on up to this size.
  if (object.size > bounds.fileBytes)
    throw new PermanentFault(
      `"${object.key}" has ${object.size} bytes; the limit of one file is ${bounds.fileBytes}: divide it`,
    );
  const made: string[] = [];
  const createFile = async () => {
    const path = await options.createFile();
    made.push(path);
    return path;
  };
  try {
    const found = await unpack({ ...options, createFile });
    const used = found.map(({ path }) => path);
    for (const path of made) if (!used.includes(path)) await removeFile(path);
    return found;
  } catch (error) {
    for (const path of made) await removeFile(path);
    throw describeFailure(error, object.key);
  }
}

async function unpack(options: FetchOptions): Promise<FetchedFile[]> {
  const { object, reading, bounds, createFile } = options;
  const packed = { bytes: 0 };
  const { source, start, finish } = await openSource(options, packed);
  try {
    const compression = findCompression(reading.compression, start);
    const path = await createFile();
    const write = createWriteStream(path, { mode: 0o600 });
    if (compression === 'zip') {
      await pipeline(source, write);
      await finish();
      const { unpackZip } = await import('./zip.ts');
      return await unpackZip(path, { key: object.key, reading, bounds, createFile });
    }
    const { streams, unpacked, lines } = createUnpacking(compression, reading, packed, bounds);
    await pipeline([source, ...streams, write]);
    await finish();
    return [
      {
        ...{ path, entry: '', bytes: unpacked.bytes },
        ...{ longestLine: lines.longest, longestLineAt: lines.at },
      },
    ];
  } catch (error) {
    source.destroy();
    // What ended the reading says more than the stream that it ended.
    await finish();
    throw error;
  }
}

/** A stream of the object, whose first bytes have come. */
async function openSource(
  { store, object, time, signal }: FetchOptions,
  packed: { bytes: number },
): Promise<{ source: Readable; start: Buffer; finish(): Promise<void> }> {
  const source = new PassThrough({ highWaterMark: 1_048_576 });
  // It may break off before anything reads it: `ready` and `reading` say so.
  source.on('error', () => undefined);
  const ready = Promise.withResolvers<Buffer>();
  let start: Buffer = Buffer.alloc(0);
  const reading = readObject(store, object, time, signal, async (chunk) => {
    if (source.destroyed) throw new Error('the file is not written any more');
    packed.bytes += chunk.byteLength;
    if (start.byteLength < markBytes) {
      start = Buffer.concat([start, chunk.subarray(0, markBytes)]);
      if (start.byteLength >= markBytes) ready.resolve(start);
    }
    if (!source.write(chunk)) await drained(source);
  }).then(
    () => {
      source.end();
      ready.resolve(start);
    },
    (error: Error) => {
      source.destroy(error);
      ready.reject(error);
      if (!isStopped(error)) throw error;
    },
  );
  reading.catch(() => undefined);
  return { source, start: await ready.promise, finish: () => reading };
}

const isStopped = (error: Error) => error.message === 'the file is not written any more';

function drained(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}

function describeFailure(error: unknown, key: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Error(
      `the disk of the agent is full: "${key}" was not fetched; free space, or load smaller objects`,
    );
  if (isPackingFault(error))
    return new PermanentFault(
      `"${key}" cannot be unpacked (${code}): it is damaged, or "compression" is wrong`,
    );
  if (!error.message.includes(`"${key}"`)) error.message = `"${key}": ${error.message}`;
  return error;
}
