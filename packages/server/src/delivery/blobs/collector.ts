/**
 * Removes files that nothing refers to any more, a little at a time (docs/adr/0017). Whoever is killed at any
 * moment, the next pass goes on.
 *
 * Terminology
 *   condemned  nothing refers to it; it goes when that is still so after the grace. An upload that meets a
 *              condemned blob keeps it for another grace
 *   doomed     an object that no row names; its bytes go after the grace, so that who began to read them, a
 *              backup say, still can
 *
 * In this order, which is that of the references: manifests with their chunks, blobs, rows of objects,
 * objects.
 */
import type { Database } from '../../kernel/database/database.ts';
import { createFailureLog, type FailureLog } from '../../kernel/failure-log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { computeRest, type Rest, runExclusively } from '../../kernel/retention/retention.ts';
import type { BlobServices } from './blob-writer.ts';
import {
  batchRows,
  condemnUnlisted,
  doomObjects,
  dueManifests,
  dueObjects,
  knownObjects,
  type ManifestStatements,
  type ManifestUse,
  manifestStatements,
  nextAccounts,
  removeCondemnedBlobs,
  removeUnlistedChunks,
  sparseObjects,
} from './collection.store.ts';
import { rewriteObject } from './rewriting.ts';
import { forgetObject, holdBlobsAlone } from './taking.store.ts';

export interface CollectorServices extends BlobServices {
  metrics: Metrics;
  stopping: AbortSignal;
  /** What refers to manifests, one condition for each kind. */
  manifestUses: readonly ManifestUse[];
  config: { collection: { graceHours: number; everySeconds: number } };
}

type Removed = Record<'manifests' | 'blobs' | 'objects', number>;

export interface Collector {
  /** One pass over all accounts. Answers what went: undefined when another server is at it. */
  collect(rest: Rest): Promise<Removed | undefined>;
}

export function collectionJob(services: CollectorServices): PeriodicJob {
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
  const manifests = manifestStatements(services.manifestUses);
  const graceMilliseconds = services.config.collection.graceHours * 3_600_000;
  const failures = createFailureLog(services.log, services.clock);
  return {
    collect: (rest) =>
      runExclusively(services.database, 'blob collection', rest, async (between) => {
        const removed: Removed = { manifests: 0, blobs: 0, objects: 0 };
        const pass = openPass(services, manifests, { rest: between, removed, graceMilliseconds, failures });
        for await (const accountId of accounts(services.database)) {
          if (services.stopping.aborted) break;
          await pass(accountId);
        }
        for (const [kind, count] of Object.entries(removed)) services.metrics.countRemovedRows(kind, count);
        if (Object.values(removed).some((count) => count > 0))
          services.log.info({ removed }, 'files that nothing refers to were removed');
        return removed;
      }),
  };
}

async function* accounts({ read }: Database): AsyncGenerator<string> {
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
  const before = () => new Date(clock.now().getTime() - about.graceMilliseconds);

  /** Does one small thing, and rests. */
  async function rested<Result>(work: () => Promise<Result>): Promise<Result> {
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
      const [row] = await rested(() =>
        database.read(manifests.condemn, { account_id: accountId, after, now: clock.now() }),
      );
      cursor = row !== undefined && row.looked === batchRows ? row.cursor : null;
    }
  }

  async function removeManifests(accountId: string): Promise<void> {
    for (const { digest } of await database.read(dueManifests, {
      account_id: accountId,
      condemned_before: before(),
    })) {
      if (stopping.aborted) return;
      removed.manifests += await rested(() =>
        database.transaction(async (tx) => {
          holdBlobsAlone(tx, accountId);
          const [gone] = await tx.query(manifests.remove, {
            account_id: accountId,
            digest,
            condemned_before: before(),
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
      const batch = await rested(() =>
        database.transaction((tx) => removeCondemnedBlobs(tx, accountId, before())),
      );
      removed.blobs += batch.removed;
      looked = batch.looked;
    }
  }

  async function rewriteSparse(accountId: string): Promise<void> {
    await database.transaction((tx) => doomObjects(tx, accountId, before(), clock.now()));
    for (const { object_key: key } of await database.read(sparseObjects, { account_id: accountId })) {
      if (stopping.aborted) return;
      await rested(() =>
        rewriteObject(services, accountId, key).catch((failure) =>
          log.warn({ err: failure, accountId, key }, 'a pack could not be written anew; it stays as it is'),
        ),
      );
    }
  }

  async function removeObjects(accountId: string): Promise<void> {
    for (const { object_key: key } of await database.read(dueObjects, {
      account_id: accountId,
      doomed_before: before(),
    })) {
      if (stopping.aborted) return;
      await rested(async () => {
        await objects.remove(accountId, key);
        await forgetObject(database.read, accountId, key);
      });
      removed.objects += 1;
    }
  }

  /**
   * What a restore of the database has forgotten, say. A row is there before its object: one that has none
   * when it was listed has none.
   */
  async function removeUnknown(accountId: string): Promise<void> {
    const old = before();
    let keys: string[] = [];
    async function look(): Promise<void> {
      const batch = keys;
      keys = [];
      const known = await rested(() => knownObjects(database.read, accountId, batch));
      for (const key of batch.filter((each) => !known.has(each))) {
        await rested(() => objects.remove(accountId, key));
        removed.objects += 1;
      }
    }
    for await (const { key, modifiedAt } of objects.list(accountId)) {
      if (stopping.aborted) return;
      if (modifiedAt > old) continue;
      keys.push(key);
      if (keys.length === batchRows) await look();
    }
    if (keys.length > 0) await look();
  }

  const steps = [condemnManifests, removeManifests, removeBlobs, rewriteSparse, removeObjects, removeUnknown];
  return async (accountId) => {
    for (const step of steps) {
      if (stopping.aborted) return;
      // What fails for one account, or at a store that is away, leaves the others alone.
      await step(accountId).catch((failure) => {
        if (lockLost) throw failure;
        const job = `collection: ${step.name}`;
        about.failures.recordFailure(job, failure, 'a step of the collection failed', { accountId });
      });
    }
  };
}
