/**
 * Writes the new blobs of one upload: packs, places and puts the files that the account does not have,
 * while the rest of the upload arrives.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import { findNewBlobs, readBase } from './blob.store.ts';
import type { ObjectStore } from './object-store.ts';
import { createPack, fullPackBytes, noObject, type Pack, type PlacedBlob } from './pack.ts';
import { doomUntaken, forgetObject, type KeptBlobs, placeBlobs } from './taking.store.ts';

export interface FileBytes {
  /** SHA-256 in hexadecimal. */
  digest: string;
  bytes: Uint8Array;
}

export interface BlobWriter {
  /** Stores some files. Call it again when the promise has resolved, which bounds memory. */
  keep(files: readonly FileBytes[]): Promise<void>;
  /** Returns what a transaction needs to take the blobs. */
  finish(): Promise<KeptBlobs>;
}

export interface BlobServices {
  database: Database;
  objects: ObjectStore;
  clock: Clock;
  newId: NewId;
  log: Log;
}

export interface OpenWriter extends BlobWriter {
  /** Removes the blobs that no transaction has taken. Always call it last. */
  close(): Promise<void>;
}

/** Packs that are put, and batches that are placed, while the next pack fills. */
const mostAtOnce = 2;

export function openWriter(services: BlobServices, accountId: string, base: string | null): OpenWriter {
  const { database, objects, clock, newId, log } = services;
  const { read } = database;
  /** Digests of files that the base does not list. */
  const seen = new Set<string>();
  const reading = readBase(read, accountId, base);
  // Failures of this and of background puts are reported to the code that awaits them.
  reading.catch(() => undefined);
  /** Key and size of all packs; their bytes are released once they are put. */
  const packs: { key: string; size: number }[] = [];
  let open: Pack | undefined;
  /** Background work, oldest first. */
  const puts: Promise<void>[] = [];
  const placings: Promise<void>[] = [];
  const unplaced: PlacedBlob[] = [];
  /** If none of the previous batch existed, skip the lookup for this one. */
  let isAllNew = false;
  let taken = false;
  let isClosed = false;
  /** Unfinished calls of `keep`; they may outlive a failed upload. */
  let keeping: Promise<unknown> = Promise.resolve();

  async function add(files: readonly FileBytes[]): Promise<void> {
    open ??= createPack(newId());
    const pack = open;
    const blobs = files.map(({ digest, bytes }) => pack.add(digest, bytes));
    await queue(placings, place(pack, blobs));
    if (pack.size >= fullPackBytes) await put(pack);
  }

  async function put(pack: Pack): Promise<void> {
    open = undefined;
    packs.push({ key: pack.key, size: pack.size });
    const putting = Promise.all(placings).then(() => objects.put(accountId, pack.key, pack.chunks));
    await queue(puts, putting);
  }

  /** Bytes of blobs that turn out to exist remain unused in the pack. */
  async function place({ key }: Pack, blobs: readonly PlacedBlob[]): Promise<void> {
    const now = clock.now();
    const refused = await database.transaction((tx) => placeBlobs(tx, accountId, key, blobs, now));
    if (refused.size === 0) return;
    isAllNew = false;
    const contested = await findNewBlobs(read, accountId, [...refused], now);
    unplaced.push(...blobs.filter(({ digest }) => contested.has(digest)));
  }

  async function removeUntaken(): Promise<void> {
    await Promise.allSettled([...puts, ...placings]);
    const keys = [...packs, ...(open === undefined ? [] : [open])].map(({ key }) => key);
    const doomed = await database.transaction((tx) =>
      doomUntaken(tx, accountId, keys, [...seen], clock.now()),
    );
    for (const key of doomed) {
      await objects.remove(accountId, key);
      await forgetObject(read, accountId, key);
    }
  }

  async function keep(files: readonly FileBytes[]): Promise<void> {
    const { blobs } = await reading;
    const fresh = new Map<string, FileBytes>();
    for (const file of files) {
      const { digest, bytes } = file;
      if (blobs.has(digest) || seen.has(digest)) continue;
      seen.add(digest);
      if (bytes.length > 0) fresh.set(digest, file);
      else unplaced.push({ digest, size: 0, key: noObject, offset: 0 });
    }
    if (fresh.size === 0) return;
    const unknown = isAllNew ? fresh : await findNewBlobs(read, accountId, [...fresh.keys()], clock.now());
    isAllNew = unknown.size === files.length;
    const added = [...fresh.values()].filter(({ digest }) => unknown.has(digest));
    if (added.length > 0 && !isClosed) await add(added);
  }

  return {
    keep(files) {
      const stored = keep(files);
      keeping = Promise.allSettled([keeping, stored]);
      return stored;
    },
    async finish() {
      if (open !== undefined) await put(open);
      await Promise.all(placings);
      const stored = Promise.all(puts);
      // Unawaited if the transaction fails first.
      stored.catch(() => undefined);
      if (!objects.isLocal) await stored;
      return {
        base: await reading,
        unplaced,
        stored,
        objects: packs,
        markTaken: () => {
          taken = true;
        },
      };
    },
    async close() {
      isClosed = true;
      await keeping;
      if (taken || (packs.length === 0 && open === undefined)) return;
      await removeUntaken().catch((failure) =>
        log.warn(
          { err: failure, accountId },
          'could not remove the files of an unfinished upload; the next collection will',
        ),
      );
    },
  };
}

/**
 * Adds work and waits while too much is under way. A failure is reported to the code that awaits the work.
 */
async function queue(underWay: Promise<void>[], work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  underWay.push(work);
  if (underWay.length > mostAtOnce) await underWay.shift();
}
