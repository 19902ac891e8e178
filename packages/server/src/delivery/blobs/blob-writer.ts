/** The new blobs of one upload: what the account does not have yet is packed and put while the rest still arrives. */
import type { Clock } from '../../kernel/clock.ts';
import type { Read } from '../../kernel/database.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import {
  announceObject,
  doomUntaken,
  forgetObject,
  type KeptBlobs,
  newBlobs,
  readBase,
} from './blob.store.ts';
import type { ObjectStore } from './object-store.ts';
import { createPack, fullPackBytes, type Pack, type PlacedBlob } from './pack.ts';

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
  read: Read;
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
  const { read, objects, clock, newId, log } = services;
  /** Digests that were looked for: files of the base are not. */
  const seen = new Set<string>();
  const reading = readBase(read, accountId, base);
  // Told to whoever waits for it.
  reading.catch(() => undefined);
  const placed: PlacedBlob[] = [];
  const announced: { key: string; size: number; announcement: Promise<void> }[] = [];
  let pack: Pack | undefined;
  /** The oldest first. */
  const puts: Promise<void>[] = [];
  let taken = false;
  let isClosed = false;
  /** What is being kept still, though its upload may have failed meanwhile. */
  let keeping: Promise<unknown> = Promise.resolve();

  function open(): Pack {
    const key = newId();
    const announcement = announceObject(read, accountId, key, clock.now());
    announcement.catch(() => undefined);
    announced.push({ key, size: 0, announcement });
    return createPack(key);
  }

  async function put(full: Pack): Promise<void> {
    if (puts.length === mostPuts) await puts.shift();
    const about = announced.find(({ key }) => key === full.key);
    if (about !== undefined) about.size = full.size;
    placed.push(...full.blobs);
    const putting = Promise.resolve(about?.announcement)
      .then(() => objects.put(accountId, full.key, full.chunks))
      .finally(() => full.release());
    // Told to whoever waits for it.
    putting.catch(() => undefined);
    puts.push(putting);
  }

  async function add({ digest, bytes }: FileBytes): Promise<void> {
    if (bytes.length === 0) {
      placed.push({ digest, size: 0, key: '', offset: 0 });
      return;
    }
    pack ??= open();
    pack.add(digest, bytes);
    if (pack.size < fullPackBytes) return;
    const full = pack;
    pack = undefined;
    await put(full);
  }

  async function removeUntaken(): Promise<void> {
    await Promise.allSettled([...puts, ...announced.map(({ announcement }) => announcement)]);
    const keys = announced.map(({ key }) => key);
    for (const key of await doomUntaken(read, accountId, keys, clock.now())) {
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
    for (const file of fresh.values()) {
      if (isClosed) return;
      if (unknown.has(file.digest)) await add(file);
    }
  }

  return {
    keep(files) {
      const kept = keep(files);
      keeping = Promise.allSettled([keeping, kept]);
      return kept;
    },
    async finish() {
      if (pack !== undefined) await put(pack);
      pack = undefined;
      await Promise.all(announced.map(({ announcement }) => announcement));
      const stored = Promise.all(puts);
      // Told to whoever waits for it: nobody, when the transaction fails before.
      stored.catch(() => undefined);
      if (!objects.isLocal) await stored;
      return {
        base: await reading,
        placed,
        stored,
        objects: announced.map(({ key, size }) => ({ key, size })),
        taken: () => {
          taken = true;
        },
      };
    },
    async close() {
      isClosed = true;
      await keeping;
      if (taken || announced.length === 0) return;
      // What is left of it goes with the next collection.
      await removeUntaken().catch((failure) =>
        log.warn({ err: failure, accountId }, 'what an upload left could not be removed'),
      );
    },
  };
}
