/** The new blobs of one upload: what the account does not have yet is packed, placed and put while the rest still arrives. */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import { newBlobs, readBase } from './blob.store.ts';
import type { ObjectStore } from './object-store.ts';
import { createPack, fullPackBytes, noObject, type Pack, type PlacedBlob } from './pack.ts';
import {
  announceObject,
  doomUntaken,
  forgetObject,
  type KeptBlobs,
  moveBlobs,
  placeBlobs,
} from './taking.store.ts';

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

/** So many packs of an upload are put while the next one fills. */
const mostPuts = 2;

export function openWriter(services: BlobServices, accountId: string, base: string | null): OpenWriter {
  const { database, objects, clock, newId, log } = services;
  const { read } = database;
  /** Digests of what the base does not list. */
  const seen = new Set<string>();
  const reading = readBase(read, accountId, base);
  // A failure of this, and of what goes on beside the reading, is told to whoever waits for it.
  reading.catch(() => undefined);
  const packs: Pack[] = [];
  let open: Pack | undefined;
  const unplaced: PlacedBlob[] = [];
  /** The oldest first. */
  const puts: Promise<void>[] = [];
  let taken = false;
  let isClosed = false;
  /** What is being kept still, though its upload may have failed meanwhile. */
  let keeping: Promise<unknown> = Promise.resolve();

  function begin(): Pack {
    const pack = createPack(newId());
    packs.push(pack);
    return pack;
  }

  /** Files that the base does not list, all of them into one pack. */
  async function add(files: readonly FileBytes[]): Promise<void> {
    open ??= begin();
    const pack = open;
    const now = clock.now();
    const expected = placesFor(files, pack);
    const refused = await database.transaction((tx) => placeBlobs(tx, accountId, pack.key, expected, now));
    const contested = await newBlobs(read, accountId, refused, now);
    if (contested.size > 0) await announceObject(read, accountId, pack.key, now);
    const known = new Set(refused.filter((digest) => !contested.has(digest)));
    const moved: PlacedBlob[] = [];
    for (const [index, { digest, bytes }] of files.entries()) {
      if (known.has(digest)) continue;
      const blob = pack.add(digest, bytes);
      if (contested.has(digest)) unplaced.push(blob);
      else if (blob.offset !== expected[index]?.offset) moved.push(blob);
    }
    if (moved.length > 0) await moveBlobs(read, accountId, pack.key, moved);
    if (pack.size >= fullPackBytes) await put(pack);
  }

  async function put(pack: Pack): Promise<void> {
    open = undefined;
    if (puts.length === mostPuts) await puts.shift();
    const putting = objects.put(accountId, pack.key, pack.chunks).finally(() => pack.release());
    putting.catch(() => undefined);
    puts.push(putting);
  }

  async function removeUntaken(): Promise<void> {
    await Promise.allSettled(puts);
    const keys = packs.map((pack) => pack.key);
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
    const fresh: FileBytes[] = [];
    for (const file of files) {
      const { digest, bytes } = file;
      if (blobs.has(digest) || seen.has(digest)) continue;
      seen.add(digest);
      if (bytes.length > 0) fresh.push(file);
      else unplaced.push({ digest, size: 0, key: noObject, offset: 0 });
    }
    if (fresh.length > 0 && !isClosed) await add(fresh);
  }

  return {
    keep(files) {
      const kept = keep(files);
      keeping = Promise.allSettled([keeping, kept]);
      return kept;
    },
    async finish() {
      if (open !== undefined && open.size > 0) await put(open);
      const stored = Promise.all(puts);
      // Nobody waits for it when the transaction fails before.
      stored.catch(() => undefined);
      if (!objects.isLocal) await stored;
      return {
        base: await reading,
        unplaced,
        stored,
        objects: packs.map(({ key, size }) => ({ key, size })).filter(({ size }) => size > 0),
        taken: () => {
          taken = true;
        },
      };
    },
    async close() {
      isClosed = true;
      await keeping;
      if (taken || packs.length === 0) return;
      // What is left of it goes with the next collection.
      await removeUntaken().catch((failure) =>
        log.warn({ err: failure, accountId }, 'what an upload left could not be removed'),
      );
    },
  };
}

/** Where files will lie in a pack if all of them come into it. */
function placesFor(files: readonly FileBytes[], { key, size: before }: Pack): PlacedBlob[] {
  let offset = before;
  return files.map(({ digest, bytes: { length: size } }) => {
    const blob = { digest, size, key, offset };
    offset += size;
    return blob;
  });
}
