/** The files of a stored version, for a review. */
import { buffer } from 'node:stream/consumers';
import type { Read } from '../../kernel/database/database.ts';
import type { Blobs } from '../blobs/index.ts';
import type { ReviewSource } from '../quality-rules/index.ts';
import { readManifestFiles } from './manifest.store.ts';

export async function createVersionSource(
  { read, blobs }: { read: Read; blobs: Blobs },
  accountId: string,
  manifestDigest: string,
): Promise<ReviewSource> {
  const files = await readManifestFiles(read, accountId, manifestDigest);
  if (files === undefined) throw new Error(`The manifest ${manifestDigest} is missing.`);
  const digestOf = new Map(files.map(({ path, sha256 }) => [path, sha256]));
  return {
    files,
    async *read(chosen) {
      for (const { path } of chosen) {
        const digest = digestOf.get(path) ?? '';
        const blob = await blobs.read(accountId, digest);
        if (blob === undefined) throw new Error(`The stored file ${path} (${digest}) is missing.`);
        yield await buffer(blob.stream);
      }
    },
  };
}
