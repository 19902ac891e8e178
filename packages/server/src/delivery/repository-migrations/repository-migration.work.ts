/** Works on migrations. Another server goes on with one of a server that is silent. */
import { addSeconds } from '../../kernel/clock.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import { type HeldWork, releaseWork } from '../../kernel/work/server-work.ts';
import type { ServerWorkKind } from '../../kernel/work/server-worker.ts';
import { isPassing } from './git/migration-failure.ts';
import { migrationsKey } from './migration.ts';
import { giveUp } from './migration-end.ts';
import { type MigrationServices, MigrationWork } from './migration-work.ts';
import { migrationKind } from './store/migration.store.ts';
import { beginMigration, type MigrationJob } from './store/migration-work.store.ts';

/** Those of a host that hardly answers last for hours, so one account gets a part. */
const mostAtOnce = 8;
const mostOfAccount = 4;
const progressMilliseconds = 5_000;
/** Before an interrupted migration is taken up again. */
const pauseSeconds = 10;
/** While the token of the project is renewed. */
const renewalPauseSeconds = 1;
/** Attempts that servers died in, or that failed for a reason of the migration. */
const mostAttempts = 5;
/** A server without git fails what no other server has taken for this long. */
const silentSeconds = 15 * 60;

export function createMigrationWork(services: MigrationServices): ServerWorkKind {
  const { database, clock, git, log } = services;

  async function begin(held: HeldWork, work: (job: MigrationJob) => Promise<void>): Promise<void> {
    const now = clock.now();
    const job = await beginMigration(database, held, now);
    if (job !== undefined) return work(job);
    const dueAt = addSeconds(now, renewalPauseSeconds);
    await releaseWork(database.read, held, { outcome: 'unfinished', dueAt, now });
  }

  async function move(job: MigrationJob, signal: AbortSignal): Promise<void> {
    const migration = new MigrationWork(services, job, signal);
    const show = () => void migration.showProgress().catch(() => undefined);
    const timer = setInterval(show, progressMilliseconds);
    try {
      await migration.run();
    } finally {
      clearInterval(timer);
    }
  }

  return {
    kind: migrationKind,
    name: 'repository migrations',
    wakeKey: migrationsKey,
    lookMilliseconds: 1_000,
    leaseSeconds: 20,
    places: createPlaces(mostAtOnce, mostOfAccount),
    // The number of attempts ends them.
    mostInterruptions: Number.POSITIVE_INFINITY,
    interruptedAtOnce: mostAtOnce,
    canWork: async () => !('fault' in (await git.check())),
    silentSeconds,
    run: (held, signal) =>
      begin(held, (job) => (held.attempts > mostAttempts ? giveUp(services, job) : move(job, signal))),
    setAside: (held) => begin(held, (job) => giveUp(services, job)),
    async fail(held, failure) {
      const about = { err: failure, migrationId: held.work_id };
      log.warn(about, 'a repository migration was interrupted; it will be taken up again');
      const now = clock.now();
      // Where the database or the turns of git are the reason, the attempt does not count.
      const outcome = isPassing(failure) ? 'unfinished' : 'failed';
      await releaseWork(database.read, held, { outcome, dueAt: addSeconds(now, pauseSeconds), now });
    },
  };
}
