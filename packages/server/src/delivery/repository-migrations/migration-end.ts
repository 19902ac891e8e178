/** The end of a migration: its row, the repository of the project and the event, in one transaction. */
import type { MigrationMode, MigrationProvider } from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { MigrationFailed } from './git/migration-failure.ts';
import { endMigrationRow, type Held, type MigrationEnd } from './store/migration-work.store.ts';
import { type MovedRepository, moveRepositoryRow, type SourceRow } from './store/moved-repository.store.ts';
import { LeaseLost } from './tokens/target-token.ts';

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

interface Ended extends Held {
  mode: MigrationMode;
  target_provider: MigrationProvider;
  target_name: string;
  target_clone_url: string;
}

// Rules of a hosted repository wait for pushes to it. At another host they must be polled.
const wakeRules = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', now: 'timestamptz' } },
  'update delivery_rule set due_at = $now where account_id = $account_id and project_id = $project_id',
);

/** @throws LeaseLost; then nothing has changed */
export async function endMigration(services: EndServices, job: Ended, end: EndOfMigration): Promise<void> {
  const { database, clock, newId } = services;
  const now = clock.now();
  const source = { accountId: job.account_id, actorId: null, actorKind: 'system', requestId: null } as const;
  await database.transaction(async (tx) => {
    if (!(await endMigrationRow(tx, job, end, now))) throw new LeaseLost();
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

function buildEndEvent(job: Ended, { status, code, detail, project, report }: EndOfMigration): AccountEvent {
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

const abandoned = statement(
  {
    parameters: {
      now: 'timestamptz',
      silent_before: 'timestamptz?',
      most_attempts: 'integer',
      limit: 'bigint',
    },
    row: {
      account_id: 'uuid',
      project_id: 'uuid',
      migration_id: 'uuid',
      epoch: 'bigint',
      attempts: 'integer',
      mode: 'text',
      phase: 'text',
      target_provider: 'text',
      target_name: 'text',
      target_clone_url: 'text',
      percent: 'smallint',
      bytes: 'bigint',
    },
    alone: true,
  },
  `
  select account_id, project_id, migration_id, epoch, attempts, mode, phase, target_provider, target_name, target_clone_url,
    percent, bytes
  from repository_migration
  where status = 'IN_PROGRESS'
    and (lease_until <= $now and attempts >= $most_attempts or coalesce(lease_until, created_at) < $silent_before::timestamptz)
  order by lease_until nulls first limit $limit`,
);

/** Claims that ended with a lease that ran out. */
const mostAttempts = 5;
/** A server without git fails what no other server has taken for this long. */
const silentMilliseconds = 15 * 60_000;
const mostAtOnce = 20;

/**
 * Fails migrations whose servers died again and again, or that no server can work on.
 *
 * @param canWork whether this server can: then a migration that waits for a turn is left to wait
 */
export async function failAbandoned(services: EndServices, canWork: boolean): Promise<void> {
  const now = services.clock.now();
  const found = await services.database.read(abandoned, {
    now,
    silent_before: canWork ? null : new Date(now.getTime() - silentMilliseconds),
    most_attempts: mostAttempts,
    limit: mostAtOnce,
  });
  for (const row of found) {
    const { phase, percent, bytes } = row;
    const ended = {
      ...{ status: 'FAILED', phase, percent, bytes, code: 'given-up', report: undefined, project: undefined },
      detail: `No server could finish the migration: ${row.attempts} began it, and none ended it. The project still uses its old repository. Ask the operator for the log of the servers, then start again.`,
    } as unknown as EndOfMigration;
    const job = row as unknown as Ended;
    await endMigration(services, job, ended).catch((failure: unknown) => {
      if (!(failure instanceof LeaseLost)) throw failure;
    });
  }
}
