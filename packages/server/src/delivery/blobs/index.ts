export type { BlobWriter } from './blob-writer.ts';
export { type Blobs, createBlobs } from './blobs.ts';
export type { ManifestUse } from './collection.store.ts';
export { type Collector, createCollector } from './collector.ts';
export {
  keyOfSingleBlob,
  type ObjectStore,
  type ObjectStoreSettings,
  type S3Patience,
} from './object-store.ts';
export { openObjectStore } from './object-stores.ts';
export { type KeptBlobs, requireListed, takeBlobs } from './taking.store.ts';
