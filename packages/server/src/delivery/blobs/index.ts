import type { Slice } from '../../kernel/slice/slice.ts';
import { type CollectorServices, createCollectionJob } from './collector.ts';

export type { BlobWriter } from './blob-writer.ts';
export { type Blobs, createBlobs } from './blobs.ts';
export type { ManifestUse, ManifestUser } from './collection.store.ts';
export { createDiscardingWriter } from './discarding-writer.ts';
export {
  buildSingleBlobKey,
  type ObjectStore,
  type ObjectStoreSettings,
} from './object-store.ts';
export { openObjectStore } from './object-stores.ts';
export { type KeptBlobs, requireListed, takeBlobs } from './taking.store.ts';

export const blobs: Slice<CollectorServices> = {
  name: 'blobs',
  periodic: (services) => [createCollectionJob(services)],
};
