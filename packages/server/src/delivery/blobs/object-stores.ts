/** The kinds of object stores; each has its own file. */
import { createFolderObjectStore } from './folder-object-store.ts';
import type { ObjectStore, ObjectStoreSettings } from './object-store.ts';

type Kind = ObjectStoreSettings['kind'];
type Factories = {
  [K in Kind]: (settings: Extract<ObjectStoreSettings, { kind: K }>) => ObjectStore | Promise<ObjectStore>;
};

const factories: Factories = {
  folder: createFolderObjectStore,
  // Loaded only if used, because the SDK takes time and memory.
  s3: async (settings) => (await import('./s3-object-store.ts')).createS3ObjectStore(settings),
};

export async function openObjectStore(settings: ObjectStoreSettings): Promise<ObjectStore> {
  const open = factories[settings.kind] as (input: ObjectStoreSettings) => ObjectStore | Promise<ObjectStore>;
  return open(settings);
}
