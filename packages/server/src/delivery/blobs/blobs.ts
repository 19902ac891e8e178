/** The bytes of files, named by their SHA-256, once an account: what other slices use. */
import { Readable } from 'node:stream';
import { problem } from '../../kernel/http/problems.ts';
import { findPlace } from './blob.store.ts';
import { type BlobServices, type BlobWriter, openWriter } from './blob-writer.ts';

export interface Blobs {
  /** Undefined when the account has no such blob. Throws `storage-unavailable`. */
  read(accountId: string, digest: string): Promise<{ size: number; stream: Readable } | undefined>;
  /**
   * Gives `work` a writer. `base` is the digest of a manifest of the account that may list most of the files already. What it put and no transaction took (see `takeBlobs`) is removed when `work` has ended, however it did.
   * Throws what `work` throws.
   */
  writeBlobs<Result>(
    accountId: string,
    base: string | null,
    work: (writer: BlobWriter) => Promise<Result>,
  ): Promise<Result>;
  /** Resolves when nothing is being removed any more. */
  waitForRemovals(): Promise<void>;
}

export function createBlobs(services: BlobServices): Blobs {
  const closing = new Set<Promise<void>>();
  return {
    async read(accountId, digest) {
      const place = await findPlace(services.database.read, accountId, digest);
      if (place === undefined) return undefined;
      const { size, object_key: key, object_offset: start } = place;
      if (size === 0) return { size, stream: Readable.from([]) };
      const stream = await services.objects.read(accountId, key, { start, length: size });
      // Its row says that it is there: then it is a fault of the storage, not of the question.
      if (stream === undefined) {
        const cause = new Error(`the object ${accountId}/${key} is missing`);
        throw Object.assign(problem('storage-unavailable'), { cause });
      }
      return { size, stream };
    },
    async writeBlobs(accountId, base, work) {
      const writer = openWriter(services, accountId, base);
      try {
        return await work(writer);
      } finally {
        // Nobody waits for it: a store that is slow would hold back the answer that says so.
        const closed: Promise<void> = writer.close().finally(() => closing.delete(closed));
        closing.add(closed);
      }
    },
    async waitForRemovals() {
      await Promise.all(closing);
    },
  };
}
