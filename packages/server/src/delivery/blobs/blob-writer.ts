/** The new blobs of one upload: what the account does not have yet is packed, placed and put while the rest still arrives. */
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
  /** Takes some files; the next ones are given when the promise has resolved, which bounds what is in memory. */
  keep(files: readonly FileBytes[]): Promise<void>;
  /** What a transaction needs to take it. */
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
  /** Removes what no transaction has taken; called in any case, after everything. */
  close(): Promise<void>;
}

/** So many packs of an upload are put, and batches placed, while the next one fills. */
const mostAtOnce = 2;

export function openWriter(services: BlobServices, accountId: string, base: string | null): OpenWriter {
  const { database, objects, clock, newId, log } = services;
  const { read } = database;
  /** Digests of what the base does not list. */
  const seen = new Set<string>();
  const reading = readBase(read, accountId, base);
  // A failure of this, and of what goes on beside the reading, is told to whoever waits for it.
  reading.catch(() => undefined);
  /** Of all packs, whose bytes go once they are put. */
  const packs: { key: string; size: number }[] = [];
  let open: Pack | undefined;
  /** Of what goes on beside the reading, the oldest first. */
  const puts: Promise<void>[] = [];
  const placings: Promise<void>[] = [];
  const unplaced: PlacedBlob[] = [];
  /** Nothing of the batch before was there: then nothing of this one will be. */
  let isAllNew = false;
  let taken = false;
  let isClosed = false;
  /** What is being kept still, though its upload may have failed meanwhile. */
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

  /** The bytes of those that are there after all lie in the pack in vain. */
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
      const kept = keep(files);
      keeping = Promise.allSettled([keeping, kept]);
      return kept;
    },
    async finish() {
      if (open !== undefined) await put(open);
      await Promise.all(placings);
      const stored = Promise.all(puts);
      // Nobody waits for it when the transaction fails before.
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
      // What is left of it goes with the next collection.
      await removeUntaken().catch((failure) =>
        log.warn({ err: failure, accountId }, 'what an upload left could not be removed'),
      );
    },
  };
}

/** So many of a kind go on at once. A failure is told to whoever waits for it. */
async function queue(underWay: Promise<void>[], work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  underWay.push(work);
  if (underWay.length > mostAtOnce) await underWay.shift();
}
