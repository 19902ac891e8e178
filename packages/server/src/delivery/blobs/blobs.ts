/** The bytes of files, stored once per account under their SHA-256. The interface for other slices. */
import { Readable } from 'node:stream';
import { problem } from '../../kernel/http/problems.ts';
import { findPlace } from './blob.store.ts';
import { type BlobServices, type BlobWriter, openWriter } from './blob-writer.ts';

export interface Blobs {
  /** Undefined when the account has no such blob. Throws `storage-unavailable`. */
  read(accountId: string, digest: string): Promise<{ size: number; stream: Readable } | undefined>;
  /**
   * Calls `work` with a writer. `base` is the digest of a manifest of the account that may list most of the
   * files already. When `work` ends, blobs that no transaction took (see `takeBlobs`) are removed. Throws
   * what `work` throws.
   */
  writeBlobs<Result>(
    accountId: string,
    base: string | null,
    work: (writer: BlobWriter) => Promise<Result>,
  ): Promise<Result>;
  /** Resolves when all removals have ended. */
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
      // The row exists, so this is a fault of the storage, not of the request.
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
        // Not awaited: slow storage would delay the error response.
        const closed: Promise<void> = writer.close().finally(() => closing.delete(closed));
        closing.add(closed);
      }
    },
    async waitForRemovals() {
      await Promise.all(closing);
    },
  };
}
