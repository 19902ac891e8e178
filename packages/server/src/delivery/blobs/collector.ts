/**
 * Removes unused files in small steps (docs/adr/0017). A pass can be interrupted at any point; the next one
 * continues.
 *
 * Terminology
 *   condemned  unreferenced; removed if that is still so after the grace period. An upload that has the same
 *              blob keeps it for another grace period
 *   doomed     an object that no row references; its bytes are removed after the grace period, so that running
 *              readers, such as a backup, can finish
 *
 * The order of the steps is that of the references: manifests with their chunks, blobs, rows of objects,
 * objects.
 */

import { buffer } from 'node:stream/consumers';
import type { Database } from '../../kernel/database/database.ts';
import { createFailureLog, type FailureLog } from '../../kernel/failure-log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { computeRest, type Rest, runExclusively } from '../../kernel/retention/retention.ts';
import type { BlobServices } from './blob-writer.ts';
import {
  announceObject,
  type BlobOfObject,
  batchRows,
  blobsOfObject,
  buildManifestStatements,
  condemnUnlisted,
  doomObjects,
  dueManifests,
  dueObjects,
  findKnownObjects,
  type ManifestStatements,
  type ManifestUse,
  moveToObject,
  nextAccounts,
  removeCondemnedBlobs,
  removeUnlistedChunks,
  sparseObjects,
} from './collection.store.ts';
import { createPack } from './pack.ts';
import { forgetObject, holdBlobsAlone } from './taking.store.ts';

export interface CollectorServices extends BlobServices {
  metrics: Metrics;
  stopping: AbortSignal;
  /** SQL conditions, one for each kind of reference to manifests. */
  manifestUses: readonly ManifestUse[];
  config: { collection: { graceHours: number; everySeconds: number } };
}

type Removed = Record<'manifests' | 'blobs' | 'objects', number>;

export interface Collector {
  /**
   * Runs one pass over all accounts. Returns the removed counts; undefined if another server is collecting.
   */
  collect(rest: Rest): Promise<Removed | undefined>;
}

export function createCollectionJob(services: CollectorServices): PeriodicJob {
  const collector = createCollector(services);
  return {
    name: 'collection',
    everyMilliseconds: services.config.collection.everySeconds * 1_000,
    async run(rest) {
      await collector.collect(rest);
      return false;
    },
  };
}

export function createCollector(services: CollectorServices): Collector {
  const manifests = buildManifestStatements(services.manifestUses);
  const graceMilliseconds = services.config.collection.graceHours * 3_600_000;
  const failures = createFailureLog(services.log, services.clock);
  return {
    collect: (rest) =>
      runExclusively(services.database, 'blob collection', rest, async (between) => {
        const removed: Removed = { manifests: 0, blobs: 0, objects: 0 };
        const pass = openPass(services, manifests, { rest: between, removed, graceMilliseconds, failures });
        for await (const accountId of listAccounts(services.database)) {
          if (services.stopping.aborted) break;
          await pass(accountId);
        }
        for (const [kind, count] of Object.entries(removed)) services.metrics.countRemovedRows(kind, count);
        if (Object.values(removed).some((count) => count > 0))
          services.log.info({ removed }, 'unused files were removed');
        return removed;
      }),
  };
}

async function* listAccounts({ read }: Database): AsyncGenerator<string> {
  let rows: { account_id: string }[];
  let last: string | null = null;
  do {
    rows = await read(nextAccounts, { after: last });
    for (const { account_id: accountId } of rows) yield accountId;
    last = rows.at(-1)?.account_id ?? last;
  } while (rows.length === batchRows);
}

function openPass(
  services: CollectorServices,
  manifests: ManifestStatements,
  about: { rest: Rest; removed: Removed; graceMilliseconds: number; failures: FailureLog },
): (accountId: string) => Promise<void> {
  const { database, clock, stopping, objects, log } = services;
  const { removed } = about;
  let lockLost = false;
  const getDeadline = () => new Date(clock.now().getTime() - about.graceMilliseconds);

  /** Runs one small step, then pauses. */
  async function runAndRest<Result>(work: () => Promise<Result>): Promise<Result> {
    const began = performance.now();
    const result = await work();
    await about.rest(computeRest(performance.now() - began)).catch((failure) => {
      lockLost = true;
      throw failure;
    });
    return result;
  }

  async function condemnManifests(accountId: string): Promise<void> {
    let cursor: string | null = '';
    while (cursor !== null && !stopping.aborted) {
      const after: string = cursor;
      const [row] = await runAndRest(() =>
        database.read(manifests.condemn, { account_id: accountId, after, now: clock.now() }),
      );
      cursor = row !== undefined && row.looked === batchRows ? row.cursor : null;
    }
  }

  async function removeManifests(accountId: string): Promise<void> {
    for (const { digest } of await database.read(dueManifests, {
      account_id: accountId,
      condemned_before: getDeadline(),
    })) {
      if (stopping.aborted) return;
      removed.manifests += await runAndRest(() =>
        database.transaction(async (tx) => {
          holdBlobsAlone(tx, accountId);
          const [gone] = await tx.query(manifests.remove, {
            account_id: accountId,
            digest,
            condemned_before: getDeadline(),
          });
          if (gone === undefined) {
            tx.send(manifests.acquit, { account_id: accountId, digest });
            return 0;
          }
          const blobs = await removeUnlistedChunks(tx, accountId, gone.chunks);
          if (blobs.length > 0) condemnUnlisted(tx, accountId, blobs, clock.now());
          return 1;
        }),
      );
    }
  }

  async function removeBlobs(accountId: string): Promise<void> {
    let looked = batchRows;
    while (looked === batchRows && !stopping.aborted) {
      const batch = await runAndRest(() =>
        database.transaction((tx) => removeCondemnedBlobs(tx, accountId, getDeadline())),
      );
      removed.blobs += batch.removed;
      looked = batch.looked;
    }
  }

  async function rewriteSparse(accountId: string): Promise<void> {
    await database.transaction((tx) => doomObjects(tx, accountId, getDeadline(), clock.now()));
    for (const { object_key: key } of await database.read(sparseObjects, { account_id: accountId })) {
      if (stopping.aborted) return;
      await runAndRest(() =>
        rewriteObject(services, accountId, key).catch((failure) =>
          log.warn({ err: failure, accountId, key }, 'could not rewrite a pack; it stays unchanged'),
        ),
      );
    }
  }

  async function removeObjects(accountId: string): Promise<void> {
    for (const { object_key: key } of await database.read(dueObjects, {
      account_id: accountId,
      doomed_before: getDeadline(),
    })) {
      if (stopping.aborted) return;
      await runAndRest(async () => {
        await objects.remove(accountId, key);
        await forgetObject(database.read, accountId, key);
      });
      removed.objects += 1;
    }
  }

  /**
   * Removes objects that the database does not know, for example after a restore. A row is always written
   * before its object, so a listed object without a row is unused.
   */
  async function removeUnknown(accountId: string): Promise<void> {
    const old = getDeadline();
    let keys: string[] = [];
    async function removeUnknownBatch(): Promise<void> {
      const batch = keys;
      keys = [];
      const known = await runAndRest(() => findKnownObjects(database.read, accountId, batch));
      for (const key of batch.filter((each) => !known.has(each))) {
        await runAndRest(() => objects.remove(accountId, key));
        removed.objects += 1;
      }
    }
    for await (const { key, modifiedAt } of objects.list(accountId)) {
      if (stopping.aborted) return;
      if (modifiedAt > old) continue;
      keys.push(key);
      if (keys.length === batchRows) await removeUnknownBatch();
    }
    if (keys.length > 0) await removeUnknownBatch();
  }

  const steps = [condemnManifests, removeManifests, removeBlobs, rewriteSparse, removeObjects, removeUnknown];
  return async (accountId) => {
    for (const step of steps) {
      if (stopping.aborted) return;
      // A failure of one account or of the storage must not stop the others.
      await step(accountId).catch((failure) => {
        if (lockLost) throw failure;
        const job = `collection: ${step.name}`;
        about.failures.recordFailure(job, failure, 'a step of the file collection failed', { accountId });
      });
    }
  };
}

/**
 * Rewrites a pack of which most bytes are unused: moves the used blobs to a new pack.
 *
 * The old object stays for the grace period, so that running readers can finish. After a failure the
 * collector finds the new object like that of an unfinished upload.
 */
async function rewriteObject(services: BlobServices, accountId: string, key: string): Promise<void> {
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
