/** Objects in a folder: `<account>/<key>`, written to a temporary file, synced, and renamed. */
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { problem } from '../../kernel/http/problems.ts';
import type { ListedObject, ObjectStore } from './object-store.ts';

/** Suffix of an unfinished put; each key has at most one. */
const aside = '.part';
const mode = 0o600;

export function createFolderObjectStore({ folder }: { folder: string }): ObjectStore {
  const locateFile = (accountId: string, key: string) => join(folder, accountId, key);

  const store: ObjectStore = {
    isLocal: true,
    put(accountId, key, chunks) {
      const target = locateFile(accountId, key);
      return translateFailure(async () => {
        try {
          await workInFolder(dirname(target), () => writeSynced(target + aside, chunks));
          await rename(target + aside, target);
        } catch (failure) {
          await rm(target + aside, { force: true });
          throw failure;
        }
        await syncFolder(dirname(target));
      });
    },
    read(accountId, key, { start, length }) {
      return translateFailure(async () => {
        const file = await openIfPresent(locateFile(accountId, key));
        return file && createReadStream('', { fd: file, start, end: start + length - 1 });
      });
    },
    remove(accountId, key) {
      const target = locateFile(accountId, key);
      return translateFailure(async () => {
        await rm(target, { force: true });
        await rm(target + aside, { force: true });
      });
    },
    list: (accountId) => listFilesBelow(join(folder, accountId)),
    async probe() {
      await makeFolder(folder);
    },
    close() {},
  };
  return store;
}

async function writeSynced(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, 'w', mode);
  try {
    await file.writeFile(chunks);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Creates the folder only if the work fails without it: it nearly always exists. */
async function workInFolder(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (failure) {
    if (!isNotFound(failure)) throw failure;
    await makeFolder(folder);
    await work();
  }
}

/** Syncs each new folder's parent, so that folders survive a crash as files do. */
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

async function openIfPresent(path: string): Promise<FileHandle | undefined> {
  return open(path, 'r').catch((failure) => {
    if (isNotFound(failure)) return undefined;
    throw failure;
  });
}

async function* listFilesBelow(top: string): AsyncGenerator<ListedObject> {
  const entries = await opendir(top, { recursive: true }).catch((failure) => {
    if (isNotFound(failure)) return undefined;
    throw failure;
  });
  if (entries === undefined) return;
  for await (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // A file removed meanwhile is not listed.
    const found = await stat(path).catch(() => undefined);
    const key = relative(top, path);
    if (found === undefined) continue;
    yield { key: key.endsWith(aside) ? key.slice(0, -aside.length) : key, modifiedAt: found.mtime };
  }
}

function isNotFound(failure: unknown): boolean {
  return hasCode(failure, 'ENOENT');
}

function hasCode(failure: unknown, ...codes: string[]): boolean {
  return failure instanceof Error && 'code' in failure && codes.includes(String(failure.code));
}

async function translateFailure<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (failure) {
    const full = hasCode(failure, 'ENOSPC', 'EDQUOT');
    throw Object.assign(problem(full ? 'storage-full' : 'storage-unavailable'), { cause: failure });
  }
}
