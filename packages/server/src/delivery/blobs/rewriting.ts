/** Rewrites a pack of which most bytes are unused: moves the used blobs to a new pack. */
import { buffer } from 'node:stream/consumers';
import type { BlobServices } from './blob-writer.ts';
import { announceObject, type BlobOfObject, blobsOfObject, moveToObject } from './collection.store.ts';
import { createPack } from './pack.ts';

/**
 * The old object stays for the grace period, so that running readers can finish. After a failure the
 * collector finds the new object like that of an unfinished upload.
 */
export async function rewriteObject(services: BlobServices, accountId: string, key: string): Promise<void> {
  const { database, objects, clock, newId } = services;
  const pack = createPack(newId());
  for (const blob of await database.read(blobsOfObject, { account_id: accountId, object_key: key }))
    pack.add(blob.digest, await readBytes(services, accountId, key, blob));
  await announceObject(database.read, accountId, pack.key, clock.now());
  await objects.put(accountId, pack.key, pack.chunks);
  await database.transaction((tx) => moveToObject(tx, accountId, key, pack, clock.now()));
}

async function readBytes(
  { objects }: BlobServices,
  accountId: string,
  key: string,
  { size, object_offset: start }: BlobOfObject,
): Promise<Buffer> {
  const stream = await objects.read(accountId, key, { start, length: size });
  const bytes = stream && (await buffer(stream));
  if (bytes?.length !== size) throw new Error(`the object ${accountId}/${key} is missing or incomplete`);
  return bytes;
}
