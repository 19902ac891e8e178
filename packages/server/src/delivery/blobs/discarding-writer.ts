import type { BlobWriter } from './blob-writer.ts';

/** For checks of files that nobody publishes: nothing is stored. */
export function createDiscardingWriter(): BlobWriter {
  return {
    keep: () => Promise.resolve(),
    finish: () =>
      Promise.resolve({
        base: { removals: 0, chunks: new Set(), blobs: new Set() },
        unplaced: [],
        objects: [],
        stored: Promise.resolve(),
        markTaken: () => undefined,
      }),
  };
}
