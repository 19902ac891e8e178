/** What the work of migrations reads and writes: the beginning, progress, the rotated token, and the end. */
import type { MigrationMode, MigrationPhase, MigrationProvider, MigrationReport } from '@headgate/contract';
import {
  type ColumnTypes,
  type Database,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { type HeldWork, LeaseLost, removeWork, writeAsHolder } from '../../../kernel/work/server-work.ts';

const keyTypes = { account_id: 'uuid', migration_id: 'uuid' } as const;
const jobRow = {
  project_id: 'uuid',
  mode: typed<MigrationMode>('text'),
  phase: typed<MigrationPhase>('text'),
  target_provider: typed<MigrationProvider>('text'),
  target_name: 'text',
  target_clone_url: 'text',
  provider_parameters: typed<Record<string, string>>('jsonb'),
  enterprise_oauth_id: 'uuid?',
  overwrite: 'boolean',
  sealed_token: 'bytea?',
  token_rotation: typed<'rotating' | 'rotated' | 'stored' | null>('text'),
  token_expires_at: 'timestamptz?',
  percent: 'smallint',
  bytes: 'bigint',
  started_at: 'timestamptz?',
  is_renewing: 'boolean',
} satisfies ColumnTypes;
/** A migration that this server holds. */
export interface MigrationJob extends Omit<RowOf<typeof jobRow>, 'is_renewing' | 'started_at'> {
  held: HeldWork;
  account_id: string;
  migration_id: string;
  started_at: Date;
}

const getKey = ({ account_id, work_id }: HeldWork) => ({ account_id, migration_id: work_id });
const isMigration = `m.account_id = $account_id and m.migration_id = $migration_id and m.status = 'IN_PROGRESS'`;

const begin = statement(
  { parameters: { ...keyTypes, now: 'timestamptz' }, row: jobRow },
  `
  with renewing as materialized (
    select exists (
      select from repository_migration m join repository r on r.account_id = m.account_id and r.project_id = m.project_id
      where ${isMigration} and r.renewal_until > $now) as is_renewing
  )
  update repository_migration m
  set started_at = case when is_renewing then m.started_at else coalesce(m.started_at, $now) end
  from renewing where ${isMigration}
  returning m.project_id, m.mode, m.phase, m.target_provider, m.target_name, m.target_clone_url, m.provider_parameters,
    m.enterprise_oauth_id, m.overwrite, m.sealed_token, m.token_rotation, m.token_expires_at, m.percent, m.bytes, m.started_at,
    is_renewing`,
);

/**
 * Begins or goes on. Undefined while the project's token is renewed, which would change the repository in the middle.
 * @throws LeaseLost
 */
export function beginMigration(
  database: Database,
  held: HeldWork,
  now: Date,
): Promise<MigrationJob | undefined> {
  return writeAsHolder(database, held, async (tx) => {
    const key = getKey(held);
    const [row] = await tx.query(begin, { ...key, now });
    if (row === undefined) throw new LeaseLost();
    const { is_renewing, started_at, ...job } = row;
    return is_renewing ? undefined : { ...job, ...key, held, started_at: started_at ?? now };
  });
}

const pushedBefore = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', target_clone_url: 'text' },
    row: { found: 'boolean' },
    alone: true,
  },
  `
  select exists (
    select from repository_migration
    where account_id = $account_id and project_id = $project_id and target_clone_url = $target_clone_url
      and mode = 'MIRROR_PUSH' and status = 'FAILED' and phase in ('PUSHING', 'VERIFYING', 'SWITCHING')) as found`,
);

/** Whether a migration to this target failed after it had begun to push. */
export async function hasPushedBefore(
  read: Read,
  {
    account_id,
    project_id,
    target_clone_url,
  }: Pick<MigrationJob, 'account_id' | 'project_id' | 'target_clone_url'>,
): Promise<boolean> {
  const [row] = await read(pushedBefore, { account_id, project_id, target_clone_url });
  return row?.found ?? false;
}

const updateProgress = statement(
  { parameters: { ...keyTypes, phase: 'text', percent: 'smallint', bytes: 'bigint' } },
  `
  update repository_migration m set phase = $phase, percent = greatest(m.percent, $percent), bytes = $bytes
  where ${isMigration}`,
);

export interface Progress {
  phase: MigrationPhase;
  percent: number;
  bytes: number;
}

/** @throws LeaseLost */
export function writeProgress(database: Database, { held }: MigrationJob, progress: Progress): Promise<void> {
  const { phase, percent, bytes } = progress;
  return writeAsHolder(database, held, (tx) =>
    tx.send(updateProgress, { ...getKey(held), phase, percent, bytes }),
  );
}

const markRotation = statement(
  { parameters: { ...keyTypes, rotation: 'text' } },
  `update repository_migration m set token_rotation = $rotation where ${isMigration}`,
);
const storeRotated = statement(
  { parameters: { ...keyTypes, sealed_token: 'bytea', expires_at: 'timestamptz?' } },
  `
  update repository_migration m
  set sealed_token = $sealed_token, token_expires_at = $expires_at, token_rotation = 'stored'
  where ${isMigration}`,
);

/** Notes that the token is about to be rotated. @throws LeaseLost */
export function noteRotation(database: Database, { held }: MigrationJob): Promise<void> {
  return writeAsHolder(database, held, (tx) =>
    tx.send(markRotation, { ...getKey(held), rotation: 'rotating' }),
  );
}

/** @throws LeaseLost */
export function storeRotatedToken(
  database: Database,
  { held }: MigrationJob,
  sealedToken: Buffer,
  expiresAt: Date | null,
): Promise<void> {
  return writeAsHolder(database, held, (tx) =>
    tx.send(storeRotated, { ...getKey(held), sealed_token: sealedToken, expires_at: expiresAt }),
  );
}

const end = statement(
  {
    parameters: {
      ...keyTypes,
      status: 'text',
      phase: 'text',
      percent: 'smallint',
      detail: 'text?',
      code: 'text?',
      report: 'jsonb?',
      bytes: 'bigint',
      now: 'timestamptz',
    },
  },
  `
  update repository_migration m
  set status = $status, phase = $phase, percent = greatest(m.percent, $percent), detail = $detail, code = $code,
    report = $report, bytes = $bytes, ended_at = $now, sealed_token = null, token_expires_at = null
  where ${isMigration}`,
);

export interface MigrationEnd {
  status: 'COMPLETED' | 'FAILED';
  phase: MigrationPhase;
  percent: number;
  detail: string | undefined;
  code: string | undefined;
  report: MigrationReport | undefined;
  bytes: number;
}

/** Ends the migration and its work. @throws LeaseLost */
export async function endMigrationRow(
  tx: Transaction,
  { held }: Pick<MigrationJob, 'held'>,
  outcome: MigrationEnd,
  now: Date,
): Promise<void> {
  const { status, phase, percent, bytes } = outcome;
  tx.send(end, {
    ...getKey(held),
    status,
    phase,
    percent,
    bytes,
    detail: outcome.detail ?? null,
    code: outcome.code ?? null,
    report: outcome.report === undefined ? null : JSON.stringify(outcome.report),
    now,
  });
  await removeWork(tx, held);
}
