/** What the work of migrations reads and writes: claims, heartbeats, the rotated token, and the end. */
import type { MigrationMode, MigrationPhase, MigrationProvider, MigrationReport } from '@headgate/contract';
import { addSeconds } from '../../../kernel/clock.ts';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';

const keyTypes = { account_id: 'uuid', project_id: 'uuid', migration_id: 'uuid', epoch: 'bigint' } as const;
const jobRow = {
  ...keyTypes,
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
  bytes: 'bigint',
  started_at: 'timestamptz',
} satisfies ColumnTypes;
/** A migration that this server holds until the end of the lease. */
export type MigrationJob = RowOf<typeof jobRow>;
export type Held = Pick<MigrationJob, keyof typeof keyTypes>;

export const getKey = ({ account_id, project_id, migration_id, epoch }: Held): Held => ({
  account_id,
  project_id,
  migration_id,
  epoch,
});

const isHeld = `
  m.account_id = $account_id and m.project_id = $project_id and m.migration_id = $migration_id and m.epoch = $epoch
  and m.status = 'IN_PROGRESS'`;

// A renewal of the project's token that is under way would change the repository in the middle.
const claim = statement(
  {
    parameters: { lease_until: 'timestamptz', now: 'timestamptz', busy: 'uuid[]' },
    row: jobRow,
    alone: true,
  },
  `
  with chosen as materialized (
    select account_id, project_id, migration_id from repository_migration waiting
    where status = 'IN_PROGRESS' and (lease_until is null or lease_until <= $now)
      and account_id <> all ($busy::uuid[]) and not exists (
        select from repository r
        where r.account_id = waiting.account_id and r.project_id = waiting.project_id and r.renewal_until > $now)
    order by lease_until nulls first limit 1 for update skip locked
  )
  update repository_migration m
  set epoch = m.epoch + 1, attempts = m.attempts + 1, lease_until = $lease_until, started_at = coalesce(m.started_at, $now)
  from chosen where m.account_id = chosen.account_id and m.project_id = chosen.project_id
    and m.migration_id = chosen.migration_id
  returning m.account_id, m.project_id, m.migration_id, m.epoch, m.mode, m.phase, m.target_provider, m.target_name,
    m.target_clone_url, m.provider_parameters, m.enterprise_oauth_id, m.overwrite, m.sealed_token, m.token_rotation,
    m.token_expires_at, m.bytes, m.started_at`,
);

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

/**
 * Claims a migration that waits, or whose server is silent.
 *
 * @param busy accounts that get nothing now
 */
export async function claimMigration(
  read: Read,
  { leaseSeconds, now, busy }: { leaseSeconds: number; now: Date; busy: string[] },
): Promise<MigrationJob | undefined> {
  const [job] = await read(claim, { lease_until: addSeconds(now, leaseSeconds), now, busy });
  return job;
}

const beat = statement(
  {
    parameters: {
      ...keyTypes,
      lease_until: 'timestamptz',
      phase: 'text',
      percent: 'smallint',
      bytes: 'bigint',
    },
    row: { held: 'boolean' },
  },
  `
  update repository_migration m
  set lease_until = $lease_until, phase = $phase, percent = greatest(m.percent, $percent), bytes = $bytes
  where ${isHeld} returning true as held`,
);

export interface Progress {
  phase: MigrationPhase;
  percent: number;
  bytes: number;
}

/** Extends the lease. False: another server has the migration, or it has ended. */
export async function extendLease(
  read: Read,
  held: Held,
  { phase, percent, bytes }: Progress,
  leaseUntil: Date,
): Promise<boolean> {
  const parameters = { ...getKey(held), phase, percent, bytes, lease_until: leaseUntil };
  return (await read(beat, parameters)).length > 0;
}

const giveBack = statement(
  { parameters: { ...keyTypes, lease_until: 'timestamptz', given_back: 'integer' } },
  `
  update repository_migration m set lease_until = $lease_until, attempts = greatest(0, m.attempts - $given_back)
  where ${isHeld}`,
);

/**
 * Lets any server take over from then on.
 *
 * @param isHarmless the migration is not the reason, so that the claim does not count as an attempt
 */
export async function releaseMigration(
  read: Read,
  held: Held,
  { until, isHarmless }: { until: Date; isHarmless: boolean },
): Promise<void> {
  await read(giveBack, { ...getKey(held), lease_until: until, given_back: isHarmless ? 1 : 0 });
}

const markRotation = statement(
  { parameters: { ...keyTypes, rotation: 'text' }, row: { held: 'boolean' } },
  `update repository_migration m set token_rotation = $rotation where ${isHeld} returning true as held`,
);
const storeRotated = statement(
  {
    parameters: { ...keyTypes, sealed_token: 'bytea', expires_at: 'timestamptz?' },
    row: { held: 'boolean' },
  },
  `
  update repository_migration m
  set sealed_token = $sealed_token, token_expires_at = $expires_at, token_rotation = 'stored'
  where ${isHeld} returning true as held`,
);

/** Notes that the token is about to be rotated. False: this server does not hold the migration any more. */
export async function noteRotation(read: Read, held: Held): Promise<boolean> {
  return (await read(markRotation, { ...getKey(held), rotation: 'rotating' })).length > 0;
}

export async function storeRotatedToken(
  read: Read,
  held: Held,
  sealedToken: Buffer,
  expiresAt: Date | null,
): Promise<boolean> {
  const parameters = { ...getKey(held), sealed_token: sealedToken, expires_at: expiresAt };
  return (await read(storeRotated, parameters)).length > 0;
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
    row: { held: 'boolean' },
  },
  `
  update repository_migration m
  set status = $status, phase = $phase, percent = greatest(m.percent, $percent), detail = $detail, code = $code,
    report = $report, bytes = $bytes, ended_at = $now, lease_until = null, sealed_token = null, token_expires_at = null
  where ${isHeld} returning true as held`,
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

/** Ends the migration, if this server still holds it. */
export async function endMigrationRow(
  tx: Transaction,
  held: Held,
  ended: MigrationEnd,
  now: Date,
): Promise<boolean> {
  const { status, phase, percent, bytes } = ended;
  const rows = await tx.query(end, {
    ...getKey(held),
    status,
    phase,
    percent,
    bytes,
    detail: ended.detail ?? null,
    code: ended.code ?? null,
    report: ended.report === undefined ? null : JSON.stringify(ended.report),
    now,
  });
  return rows.length > 0;
}
