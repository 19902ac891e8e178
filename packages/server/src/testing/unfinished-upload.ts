/** An upload taken as far as its transaction, so that a test says what happens before that. */
import { createHash } from 'node:crypto';
import { insertManifest, type Upload } from '../delivery/artifacts/index.ts';
import { manifestOf } from '../delivery/artifacts/manifest.ts';
import type { Dependencies } from '../main/deps.ts';
import type { Account } from './account.ts';

export const digestText = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What `then` does not commit is removed when it has ended. Its files are the texts, in batches of some. */
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
  await blobs.writing(accountId, base, async (writer) => {
    const files = texts.map((text) => ({ digest: digestText(text), bytes: Buffer.from(text) }));
    for (let at = 0; at < files.length; at += batch) await writer.keep(files.slice(at, at + batch));
    const listed = files.map(({ digest, bytes }, index) => {
      return { path: `a folder/${index}-${Math.random()}`, sha256: digest, size: bytes.length };
    });
    await then({
      manifest: manifestOf(listed),
      pipelines: [],
      ignored: [],
      unreadable: [],
      blobs: await writer.finish(),
    });
  });
}

/** Lists its files as the account's, in a manifest that no version has. */
export function commitUpload(
  { database, clock }: Dependencies,
  { accountId }: Account,
  upload: Upload,
): Promise<void> {
  return database.transaction((tx) =>
    insertManifest(tx, { accountId, actorId: accountId }, upload, clock.now()),
  );
}
