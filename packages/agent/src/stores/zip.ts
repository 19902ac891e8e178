/** Unpacks the files of a zip archive, one after the other. */
import { createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type ObjectReading, PermanentFault } from '@headgate/pipelines';
import { type Entry, openPromise } from 'yauzl';
import type { FetchedFile } from './object-store.ts';
import { createUnpacking, type UnpackBounds } from './unpacking.ts';

const entryLimit = 1_000;

export interface ZipOptions {
  key: string;
  reading: ObjectReading;
  bounds: UnpackBounds;
  createFile(): Promise<string>;
}

/** @throws PermanentFault */
export async function unpackZip(path: string, options: ZipOptions): Promise<FetchedFile[]> {
  const { reading, bounds, createFile } = options;
  const zip = await openPromise(path, { autoClose: false }).catch((error: Error) => {
    throw new PermanentFault(`it is no zip archive that can be read: ${error.message}`);
  });
  const found: FetchedFile[] = [];
  const names = new Set<string>();
  let total = 0;
  try {
    if (zip.entryCount > entryLimit)
      throw new PermanentFault(`it has ${zip.entryCount} files; the limit of an archive is ${entryLimit}`);
    for await (const entry of zip.eachEntry()) {
      if (isLeftOut(entry)) continue;
      if (names.has(entry.fileName))
        throw new PermanentFault(
          `it has two files "${entry.fileName}": rows are told apart by the name of their file`,
        );
      names.add(entry.fileName);
      if (entry.isEncrypted())
        throw new PermanentFault(`its file "${entry.fileName}" is encrypted, which is not supported`);
      // What the archive says of itself is not believed: its bytes are counted as they come.
      const packed = { bytes: Math.max(entry.compressedSize, 1) };
      const left = { fileBytes: bounds.fileBytes - total };
      const { streams, unpacked, lines } = createUnpacking('none', reading, packed, left);
      const target = await createFile();
      const source = await zip.openReadStreamPromise(entry);
      await pipeline([source, ...streams, createWriteStream(target, { mode: 0o600 })]);
      total += unpacked.bytes;
      found.push({
        ...{ path: target, entry: entry.fileName, bytes: unpacked.bytes },
        ...{ longestLine: lines.longest, longestLineAt: lines.at },
      });
    }
  } finally {
    zip.close();
  }
  if (found.length === 0) throw new PermanentFault('the archive has no files');
  return found;
}

/** Folders, and what macOS adds. */
function isLeftOut({ fileName }: Entry): boolean {
  return fileName.endsWith('/') || fileName.startsWith('__MACOSX/') || basename(fileName) === '.DS_Store';
}
