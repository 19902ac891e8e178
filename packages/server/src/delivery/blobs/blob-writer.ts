/** The new blobs of one upload: what the account does not have yet is packed, placed and put while the rest still arrives. */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import { newBlobs, readBase } from './blob.store.ts';
import type { ObjectStore } from './object-store.ts';
import { createPack, fullPackBytes, noObject, type Pack, type PlacedBlob } from './pack.ts';
import { announceObject, doomUntaken, forgetObject, type KeptBlobs, placeBlobs } from './taking.store.ts';

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

interface BegunObject {
  pack: Pack;
  announced: Promise<void>;
}

/** So many packs of an upload are put while the next one fills. */
const mostPuts = 2;

export function openWriter(services: BlobServices, accountId: string, base: string | null): OpenWriter {
  const { database, objects, clock, newId, log } = services;
  const { read } = database;
  /** Digests that were looked for: files of the base are not. */
  const seen = new Set<string>();
  const reading = readBase(read, accountId, base);
  // A failure of this, and of what goes on beside the reading, is told to whoever waits for it.
  reading.catch(() => undefined);
  const begun: BegunObject[] = [];
  let open: BegunObject | undefined;
  const placings: Promise<void>[] = [];
  const unplaced: PlacedBlob[] = [];
  /** The oldest first. */
  const puts: Promise<void>[] = [];
  let taken = false;
  let isClosed = false;
  /** What is being kept still, though its upload may have failed meanwhile. */
  let keeping: Promise<unknown> = Promise.resolve();

  function begin(): BegunObject {
    const pack = createPack(newId());
    const announced = announceObject(read, accountId, pack.key, clock.now());
    announced.catch(() => undefined);
    const object = { pack, announced };
    begun.push(object);
    return object;
  }

  async function put({ pack, announced }: BegunObject): Promise<void> {
    if (puts.length === mostPuts) await puts.shift();
    const putting = announced
      .then(() => objects.put(accountId, pack.key, pack.chunks))
      .finally(() => pack.release());
    putting.catch(() => undefined);
    puts.push(putting);
  }

  async function add({ digest, bytes }: FileBytes): Promise<PlacedBlob> {
    if (bytes.length === 0) return { digest, size: 0, key: noObject, offset: 0 };
    open ??= begin();
    const blob = open.pack.add(digest, bytes);
    if (open.pack.size >= fullPackBytes) {
      const full = open;
      open = undefined;
      await put(full);
    }
    return blob;
  }

  function place(blobs: readonly PlacedBlob[]): void {
    const announced = Promise.all(begun.map((object) => object.announced));
    const placing = announced.then(async () => {
      const contested = database.transaction((tx) => placeBlobs(tx, accountId, blobs, clock.now()));
      unplaced.push(...(await contested));
    });
    placing.catch(() => undefined);
    placings.push(placing);
  }

  async function removeUntaken(): Promise<void> {
    await Promise.allSettled([...puts, ...placings, ...begun.map(({ announced }) => announced)]);
    const keys = begun.map(({ pack }) => pack.key);
    const doomed = await database.transaction((tx) => doomUntaken(tx, accountId, keys, clock.now()));
    for (const key of doomed) {
      await objects.remove(accountId, key);
      await forgetObject(read, accountId, key);
    }
  }

  async function keep(files: readonly FileBytes[]): Promise<void> {
    const { blobs } = await reading;
    const fresh = new Map<string, FileBytes>();
    for (const file of files)
      if (!blobs.has(file.digest) && !seen.has(file.digest)) fresh.set(file.digest, file);
    for (const digest of fresh.keys()) seen.add(digest);
    if (fresh.size === 0) return;
    const unknown = await newBlobs(read, accountId, [...fresh.keys()], clock.now());
    const added: PlacedBlob[] = [];
    for (const file of fresh.values()) {
      if (isClosed) return;
      if (unknown.has(file.digest)) added.push(await add(file));
    }
    if (added.length > 0) place(added);
  }

  return {
    keep(files) {
      const kept = keep(files);
      keeping = Promise.allSettled([keeping, kept]);
      return kept;
    },
    async finish() {
      if (open !== undefined) await put(open);
      open = undefined;
      await Promise.all(placings);
      const stored = Promise.all(puts);
      // Nobody waits for it when the transaction fails before.
      stored.catch(() => undefined);
      if (!objects.isLocal) await stored;
      return {
        base: await reading,
        unplaced,
        stored,
        objects: begun.map(({ pack: { key, size } }) => ({ key, size })),
        taken: () => {
          taken = true;
        },
      };
    },
    async close() {
      isClosed = true;
      await keeping;
      if (taken || begun.length === 0) return;
      // What is left of it goes with the next collection.
      await removeUntaken().catch((failure) =>
        log.warn({ err: failure, accountId }, 'what an upload left could not be removed'),
      );
    },
  };
}
