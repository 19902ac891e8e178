/**
 * Works on migrations. Every server has one. It claims what waits, and what a silent server had, and holds it
 * by a lease that it extends all the time. A lease that is lost ends the work at once: another server has it.
 */
import { addSeconds } from '../../kernel/clock.ts';
import { isPassing } from './git/migration-failure.ts';
import { type EndServices, failAbandoned } from './migration-end.ts';
import { leaseSeconds, type MigrationServices, MigrationWork } from './migration-work.ts';
import { claimMigration, type MigrationJob, releaseMigration } from './store/migration-work.store.ts';
import { LeaseLost } from './tokens/target-token.ts';

export interface MigratorServices extends MigrationServices, EndServices {
  stopping: AbortSignal;
}

export interface Migrator {
  /** Begins what can be begun. */
  look(): Promise<void>;
  /** Waits until what was begun has ended. */
  wait(): Promise<void>;
}

/** Those of a host that hardly answers last for hours, so one account gets a part. */
const mostAtOnce = 8;
const mostOfAccount = 4;
const beatMilliseconds = 5_000;
const leaseMilliseconds = leaseSeconds * 1_000;
/** Before an interrupted migration is taken up again. */
const pauseSeconds = 10;

export function createMigrator(services: MigratorServices): Migrator {
  const { database, clock, git, log, stopping } = services;
  /** With the account of each. */
  const underWay = new Map<Promise<void>, string>();

  async function work(job: MigrationJob): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([stopping, lost.signal]);
    const migration = new MigrationWork(services, job, signal);
    // A server that cannot write its heartbeat before the lease ends must stop, as another one may begin.
    let isOver = false;
    const abort = () => lost.abort();
    let deadline = setTimeout(abort, leaseMilliseconds);
    const timer = setInterval(() => {
      const sent = performance.now();
      migration.beat().then(
        () => {
          clearTimeout(deadline);
          if (isOver) return;
          deadline = setTimeout(abort, sent + leaseMilliseconds - performance.now());
        },
        (failure: unknown) => {
          if (failure instanceof LeaseLost) abort();
        },
      );
    }, beatMilliseconds);
    try {
      await migration.run();
    } catch (failure) {
      const about = { err: failure, migrationId: job.migration_id };
      if (failure instanceof LeaseLost || lost.signal.aborted)
        log.warn(about, 'another server took over a repository migration');
      else {
        if (!stopping.aborted)
          log.warn(about, 'a repository migration was interrupted; it will be taken up again');
        const until = addSeconds(clock.now(), stopping.aborted ? 0 : pauseSeconds);
        const isHarmless = stopping.aborted || isPassing(failure);
        await releaseMigration(database.read, job, { until, isHarmless }).catch(() => undefined);
      }
    } finally {
      isOver = true;
      clearInterval(timer);
      clearTimeout(deadline);
    }
  }

  return {
    async look() {
      const canWork = !('fault' in (await git.check()));
      await failAbandoned(services, canWork);
      while (canWork && !stopping.aborted && underWay.size < mostAtOnce) {
        const busy = listBusy(underWay);
        const job = await claimMigration(database.read, { leaseSeconds, now: clock.now(), busy });
        if (job === undefined) return;
        const working = work(job).finally(() => underWay.delete(working));
        underWay.set(working, job.account_id);
      }
    },
    async wait() {
      while (underWay.size > 0) await Promise.all(underWay.keys());
    },
  };
}

/** Accounts that have their part. */
function listBusy(underWay: ReadonlyMap<Promise<void>, string>): string[] {
  const counts = new Map<string, number>();
  for (const accountId of underWay.values()) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= mostOfAccount).map(([accountId]) => accountId);
}
