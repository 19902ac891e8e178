/** An upload up to its transaction, so that a test can act before the commit. */
import { createHash } from 'node:crypto';
import { insertManifest, type Upload } from '../src/delivery/artifacts/index.ts';
import { buildManifest } from '../src/delivery/artifacts/upload/manifest.ts';
import type { Dependencies } from '../src/main/deps.ts';
import type { Account } from './account.ts';

export const digestText = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Stores the texts as files in batches. Files that `then` does not commit are deleted when it ends. */
export async function beginUpload(
  { blobs }: Dependencies,
  { accountId }: Account,
  {
    texts,
    base = null,
    batch = texts.length,
  }: { texts: readonly string[]; base?: string | null; batch?: number },
  then: (upload: Upload) => Promise<void>,
): Promise<void> {
  await blobs.writeBlobs(accountId, base, async (writer) => {
    const files = texts.map((text) => ({ digest: digestText(text), bytes: Buffer.from(text) }));
    for (let at = 0; at < files.length; at += batch) await writer.keep(files.slice(at, at + batch));
    const listed = files.map(({ digest, bytes }, index) => {
      return { path: `a folder/${index}-${Math.random()}`, sha256: digest, size: bytes.length };
    });
    await then({
      manifest: buildManifest(listed),
      pipelines: [],
      ignored: [],
      unreadable: [],
      blobs: await writer.finish(),
    });
  });
}

/** Commits the files to the account, in a manifest without a version. */
export function commitUpload(
  { database, clock }: Dependencies,
  { accountId }: Account,
  upload: Upload,
): Promise<void> {
  return database.transaction((tx) =>
    insertManifest(tx, { accountId, actorId: accountId }, upload, clock.now()),
  );
}
