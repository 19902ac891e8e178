/** Objects in a folder: `<account>/<key>`, written aside, synced, and renamed into place. */
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { problem } from '../../kernel/http/problems.ts';
import type { ListedObject, ObjectStore } from './object-store.ts';

/** A put that is not finished; there is one at a time of a key. */
const aside = '.part';
const mode = 0o600;
const { O_WRONLY, O_CREAT, O_TRUNC } = constants;
/** Not on every system. */
const direct: number | undefined = constants.O_DIRECT;

export function folderObjectStore({ folder }: { folder: string }): ObjectStore {
  const place = (accountId: string, key: string) => join(folder, accountId, key);

  const store: ObjectStore = {
    isLocal: true,
    put(accountId, key, chunks) {
      const target = place(accountId, key);
      return inWords(async () => {
        try {
          await inFolder(dirname(target), () => writeSynced(target + aside, chunks));
          await rename(target + aside, target);
        } catch (failure) {
          await rm(target + aside, { force: true });
          throw failure;
        }
        await syncFolder(dirname(target));
      });
    },
    read(accountId, key, { start, length }) {
      return inWords(async () => {
        const file = await openIfThere(place(accountId, key));
        return file && createReadStream('', { fd: file, start, end: start + length - 1 });
      });
    },
    remove(accountId, key) {
      const target = place(accountId, key);
      return inWords(async () => {
        await rm(target, { force: true });
        await rm(target + aside, { force: true });
      });
    },
    list: (accountId) => filesBelow(join(folder, accountId)),
    async probe() {
      await makeFolder(folder);
    },
    close() {},
  };
  return store;
}

async function writeSynced(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const { blocks, rest } = inBlocks(chunks);
  const isBegun = await writeDirect(path, blocks);
  const file = await open(path, isBegun ? 'a' : 'w', mode);
  try {
    await writeAll(file, isBegun ? rest : chunks);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** What is written directly comes in as many bytes, from memory and to a place that are multiples of them. */
const blockBytes = 4_096;

/** What of a large object are whole blocks, and its end. */
function inBlocks(chunks: readonly Uint8Array[]): { blocks: Uint8Array[]; rest: Uint8Array[] } {
  const last = chunks.at(-1);
  if (last === undefined || chunks.length === 1) return { blocks: [], rest: [...chunks] };
  const whole = last.length - (last.length % blockBytes);
  return { blocks: [...chunks.slice(0, -1), last.subarray(0, whole)], rest: [last.subarray(whole)] };
}

/**
 * Past the cache of the system, into which it takes as long to write as all else that an upload does (docs/adr/0028). Answers whether it did: some file
 * systems cannot, and some memory does not lie on pages.
 */
async function writeDirect(path: string, blocks: readonly Uint8Array[]): Promise<boolean> {
  if (direct === undefined || blocks.length === 0) return false;
  try {
    const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | direct, mode);
    await writeAll(file, blocks).finally(() => file.close());
    return true;
  } catch (failure) {
    if (hasCode(failure, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) return false;
    throw failure;
  }
}

/** What one call to the system takes (IOV_MAX). */
const chunksAtOnce = 1_024;

/** A write may take less than it is given: on a disk that is nearly full, say. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  for (let left = chunks; left.length > 0; ) {
    const { bytesWritten } = await file.writev(left.slice(0, chunksAtOnce));
    left = without(left, bytesWritten);
  }
}

function without(chunks: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let written = bytes;
  const first = chunks.findIndex((chunk) => {
    if (written < chunk.length) return true;
    written -= chunk.length;
    return false;
  });
  const [half, ...rest] = first < 0 ? [] : chunks.slice(first);
  return half === undefined ? [] : [half.subarray(written), ...rest];
}

/** The folder is there, but for what comes into it first. */
async function inFolder(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (failure) {
    if (!isAbsence(failure)) throw failure;
    await makeFolder(folder);
    await work();
  }
}

/** Made folders outlive a crash as the files in them do. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const top = dirname(first);
  for (let made = path; made !== top; made = dirname(made)) await syncFolder(dirname(made));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  return open(path, 'r').catch((failure) => {
    if (isAbsence(failure)) return undefined;
    throw failure;
  });
}

async function* filesBelow(top: string): AsyncGenerator<ListedObject> {
  const entries = await opendir(top, { recursive: true }).catch((failure) => {
    if (isAbsence(failure)) return undefined;
    throw failure;
  });
  if (entries === undefined) return;
  for await (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Gone meanwhile: it is no longer listed.
    const found = await stat(path).catch(() => undefined);
    const key = relative(top, path);
    if (found === undefined) continue;
    yield { key: key.endsWith(aside) ? key.slice(0, -aside.length) : key, modifiedAt: found.mtime };
  }
}

function isAbsence(failure: unknown): boolean {
  return hasCode(failure, 'ENOENT');
}

function hasCode(failure: unknown, ...codes: string[]): boolean {
  return failure instanceof Error && 'code' in failure && codes.includes(String(failure.code));
}

async function inWords<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (failure) {
    const full = hasCode(failure, 'ENOSPC', 'EDQUOT');
    throw Object.assign(problem(full ? 'storage-full' : 'storage-unavailable'), { cause: failure });
  }
}
