/** The end of a migration: its row, the repository of the project and the event, in one transaction. */
import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { MigrationFailed } from './git/migration-failure.ts';
import { endMigrationRow, type MigrationEnd, type MigrationJob } from './store/migration-work.store.ts';
import { type MovedRepository, moveRepositoryRow, type SourceRow } from './store/moved-repository.store.ts';

export interface MovedProject extends MovedRepository {
  source: SourceRow;
}

export interface EndOfMigration extends MigrationEnd {
  /** Undefined: the project keeps its repository. */
  project: MovedProject | undefined;
}

export interface EndServices {
  database: Database;
  clock: Clock;
  newId: NewId;
}

// Rules of a hosted repository wait for pushes to it. At another host they must be polled.
const wakeRules = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', now: 'timestamptz' } },
  `
  update server_work w set due_at = $now from delivery_rule r
  where r.account_id = $account_id and r.project_id = $project_id and w.account_id = r.account_id and w.work_id = r.work_id`,
);

/** @throws LeaseLost; then nothing has changed */
export async function endMigration(
  services: EndServices,
  job: MigrationJob,
  end: EndOfMigration,
): Promise<void> {
  const { database, clock, newId } = services;
  const now = clock.now();
  const source = { accountId: job.account_id, actorId: null, actorKind: 'system', requestId: null } as const;
  await database.transaction(async (tx) => {
    await endMigrationRow(tx, job, end, now);
    const { project } = end;
    if (project !== undefined) {
      const { source: _, ...moved } = project;
      // A trigger drops the repository that was hosted here; its folder is kept for 30 days.
      if (!(await moveRepositoryRow(tx, job, moved, now))) throw changedRepository();
      tx.send(wakeRules, { account_id: job.account_id, project_id: job.project_id, now });
    }
    recordEvents(tx, source, [buildEndEvent(job, end)], now, newId);
  });
}

function changedRepository(): MigrationFailed {
  return new MigrationFailed(
    'repository-changed',
    'The repository of the project was changed during the migration. Check it, and start again.',
  );
}

function buildEndEvent(
  job: MigrationJob,
  { status, code, detail, project, report }: EndOfMigration,
): AccountEvent {
  const subject = { type: 'repository-migration', id: job.migration_id, name: job.target_name };
  const target = { provider: job.target_provider, cloneUrl: job.target_clone_url };
  if (project === undefined)
    return {
      name: 'repository-migration-failed',
      projectId: job.project_id,
      subject,
      after: { status, mode: job.mode, code, detail, ...target },
    };
  const { source } = project;
  const { branches, tags, verifiedRefs } = report ?? {};
  return {
    name: 'repository-migrated',
    projectId: job.project_id,
    subject,
    before: { provider: source.provider, repositoryName: source.repository_name, cloneUrl: source.clone_url },
    after: {
      status,
      mode: job.mode,
      repositoryName: job.target_name,
      ...target,
      branches,
      tags,
      verifiedRefs,
    },
  };
}

/** Fails a migration whose servers died again and again, or that no server can work on. */
export function giveUp(services: EndServices, job: MigrationJob): Promise<void> {
  const { phase, percent, bytes } = job;
  return endMigration(services, job, {
    ...{ status: 'FAILED', phase, percent, bytes, code: 'given-up', report: undefined, project: undefined },
    detail: `No server could finish the migration: ${job.held.attempts - 1} began it, and none ended it. The project still uses its old repository. Ask the operator for the log of the servers, then start again.`,
  });
}
