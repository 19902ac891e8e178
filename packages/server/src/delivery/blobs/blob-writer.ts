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
  removalsSoFar,
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
  /** When the promise resolves, every new byte outlives a crash. */
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

export function openWriter(services: BlobServices, accountId: string): OpenWriter {
  const { read, objects, clock, newId, log } = services;
  const seen = new Set<string>();
  const placed: PlacedBlob[] = [];
  const announced: { key: string; size: number; announcement: Promise<void> }[] = [];
  let pack: Pack | undefined;
  /** One pack is put while the next one fills. */
  let putting: Promise<void> = Promise.resolve();
  let taken = false;
  let isClosed = false;
  /** What is being kept still, though its upload may have failed meanwhile. */
  let keeping: Promise<unknown> = Promise.resolve();
  let removalsBefore: number | undefined;

  function open(): Pack {
    const key = newId();
    const announcement = announceObject(read, accountId, key, clock.now());
    announcement.catch(() => undefined);
    announced.push({ key, size: 0, announcement });
    return createPack(key);
  }

  async function put(full: Pack): Promise<void> {
    await putting;
    const about = announced.find(({ key }) => key === full.key);
    if (about !== undefined) about.size = full.size;
    placed.push(...full.blobs);
    putting = Promise.resolve(about?.announcement).then(() => objects.put(accountId, full.key, full.chunks));
    // Told to whoever waits for it next.
    putting.catch(() => undefined);
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
    await Promise.allSettled([putting, ...announced.map(({ announcement }) => announcement)]);
    const keys = announced.map(({ key }) => key);
    for (const key of await doomUntaken(read, accountId, keys, clock.now())) {
      await objects.remove(accountId, key);
      await forgetObject(read, accountId, key);
    }
  }

  async function keep(files: readonly FileBytes[]): Promise<void> {
    const fresh = new Map(files.map((file) => [file.digest, file]));
    for (const digest of [...fresh.keys()]) if (seen.has(digest)) fresh.delete(digest);
    for (const digest of fresh.keys()) seen.add(digest);
    if (fresh.size === 0) return;
    removalsBefore ??= await removalsSoFar(read, accountId);
    const unknown = await newBlobs(read, accountId, [...fresh.keys()], clock.now());
    const wanted = [...fresh.values()].filter((file) => unknown.has(file.digest));
    const copied = isSparse(wanted);
    for (const { digest, bytes } of wanted) {
      if (isClosed) return;
      await add({ digest, bytes: copied ? Buffer.from(bytes) : bytes });
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
      await putting;
      return {
        digests: [...seen],
        removalsBefore: removalsBefore ?? 0,
        placed,
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

/** A few small files would keep all of the request in memory that they came in. */
function isSparse(files: readonly FileBytes[]): boolean {
  const wanted = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const pieces = new Set(files.map(({ bytes }) => bytes.buffer));
  const held = [...pieces].reduce((sum, piece) => sum + piece.byteLength, 0);
  return wanted * 2 < held;
}
