/** The kinds of object stores, each in a file of its own. */
import { createFolderObjectStore } from './folder-object-store.ts';
import type { ObjectStore, ObjectStoreSettings } from './object-store.ts';

type Kind = ObjectStoreSettings['kind'];
type Factories = {
  [K in Kind]: (settings: Extract<ObjectStoreSettings, { kind: K }>) => ObjectStore | Promise<ObjectStore>;
};

const factories: Factories = {
  folder: createFolderObjectStore,
  // Its SDK takes time and memory to load: only who uses it pays for it.
  s3: async (settings) => (await import('./s3-object-store.ts')).createS3ObjectStore(settings),
};

export async function openObjectStore(settings: ObjectStoreSettings): Promise<ObjectStore> {
  const open = factories[settings.kind] as (given: ObjectStoreSettings) => ObjectStore | Promise<ObjectStore>;
  return open(settings);
}
