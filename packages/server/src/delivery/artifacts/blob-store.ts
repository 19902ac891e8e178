/**
 * The bytes of files, named by their SHA-256, once an account. A small interface, so that a folder and an object store are alike.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';

export interface BlobStore {
  /** Keeps bytes under their digest; when the promise resolves they outlive a crash. Keeping what is there does nothing. */
  keep(accountId: string, digest: string, bytes: Buffer): Promise<void>;
  /** Undefined when there is no such blob. */
  read(accountId: string, digest: string): Promise<{ size: number; stream: Readable } | undefined>;
}

/** Blobs in a folder: `<account>/<two hex digits>/<digest>`, written aside, synced, and renamed into place. */
export function folderBlobStore(folder: string): BlobStore {
  const place = (accountId: string, digest: string) => join(folder, accountId, digest.slice(0, 2), digest);
  return {
    async keep(accountId, digest, bytes) {
      const target = place(accountId, digest);
      if (await exists(target)) return;
      await mkdir(dirname(target), { recursive: true });
      const aside = `${target}.${randomUUID()}.tmp`;
      try {
        const file = await open(aside, 'wx', 0o600);
        try {
          await file.writeFile(bytes);
          await file.datasync();
        } finally {
          await file.close();
        }
        await rename(aside, target);
      } catch (failure) {
        await rm(aside, { force: true });
        throw failure;
      }
    },
    async read(accountId, digest) {
      const target = place(accountId, digest);
      if (!(await exists(target))) return undefined;
      const { size } = await stat(target);
      return { size, stream: createReadStream(target) };
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
