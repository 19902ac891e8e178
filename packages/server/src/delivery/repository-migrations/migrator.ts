/**
 * Works on migrations. Every server has one. It claims what waits, and what a silent server had, and holds it
 * by a lease that it extends all the time. A lease that is lost ends the work at once: another server has it.
 */
import { addSeconds } from '../../kernel/clock.ts';
import { type EndServices, failAbandoned } from './migration-end.ts';
import { isPassing } from './migration-failure.ts';
import { claimMigrations, type MigrationJob, releaseMigration } from './migration-work.store.ts';
import { leaseSeconds, type MigrationServices, MigrationWork } from './migration-work.ts';
import { LeaseLost } from './target-token.ts';

export interface MigratorServices extends MigrationServices, EndServices {
  stopping: AbortSignal;
}

export interface Migrator {
  /** Begins what can be begun. */
  look(): Promise<void>;
  /** Waits until what was begun has ended. */
  wait(): Promise<void>;
}

const mostAtOnce = 4;
const beatMilliseconds = 5_000;
const leaseMilliseconds = leaseSeconds * 1_000;
/** Before an interrupted migration is taken up again. */
const pauseSeconds = 10;

export function createMigrator(services: MigratorServices): Migrator {
  const { database, clock, git, log, stopping } = services;
  const underWay = new Set<Promise<void>>();

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
      const limit = mostAtOnce - underWay.size;
      if (limit <= 0 || stopping.aborted || !canWork) return;
      const claimed = await claimMigrations(database.read, { limit, leaseSeconds, now: clock.now() });
      for (const job of claimed) {
        const working = work(job).finally(() => underWay.delete(working));
        underWay.add(working);
      }
    },
    async wait() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
