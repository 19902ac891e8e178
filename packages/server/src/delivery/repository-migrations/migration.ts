/** How a migration is shown, and its states. */
import type { MigrationStatus, RepositoryMigration } from '@headgate/contract';
import { invalidRequest } from '../../kernel/http/problems.ts';
import { CloneAddressRefused, parseCloneAddress } from './clone-address.ts';
import type { MigrationRow } from './store/migration.store.ts';

/** The key of the wakes: a migration was started. */
export const migrationsKey = 'repository-migrations';

/** UNKNOWN: the server that worked on it is silent, and no other has taken over. */
export function deriveStatus(
  { status, lease_until: leaseUntil }: Pick<MigrationRow, 'status' | 'lease_until'>,
  now: Date,
): MigrationStatus {
  const isSilent = status === 'IN_PROGRESS' && leaseUntil !== null && leaseUntil <= now;
  return isSilent ? 'UNKNOWN' : status;
}

export function presentMigration(row: MigrationRow, now: Date): RepositoryMigration {
  const migration: RepositoryMigration = {
    migrationId: row.migration_id,
    status: deriveStatus(row, now),
    mode: row.mode,
    targetProvider: row.target_provider,
    targetName: row.target_name,
    targetCloneUrl: row.target_clone_url,
    requestedBy: row.requested_by,
    createdAt: row.created_at.toISOString(),
  };
  if (row.detail !== null) migration.detail = row.detail;
  if (row.code !== null) migration.code = row.code;
  if (row.report !== null) migration.report = row.report;
  if (row.status === 'IN_PROGRESS')
    migration.progress = { phase: row.phase, percent: row.percent, bytes: row.bytes };
  if (row.started_at !== null) migration.startedAt = row.started_at.toISOString();
  if (row.ended_at !== null) migration.endedAt = row.ended_at.toISOString();
  return migration;
}

/** Throws `invalid-request` for an address that is no clone address. */
export function readTargetUrl(text: string): string {
  try {
    return parseCloneAddress(text).url;
  } catch (failure) {
    if (!(failure instanceof CloneAddressRefused)) throw failure;
    const field = 'body.targetCloneUrl';
    throw invalidRequest([{ field, pointer: '/body/targetCloneUrl', detail: failure.message }]);
  }
}
