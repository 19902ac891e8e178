/** The table `repository_migration`, as requests see it. What the work changes is in migration-work.store.ts. */
import type { MigrationMode, MigrationPhase, MigrationProvider, MigrationReport } from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { guardedRead } from '../../../kernel/security/guarded-read.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import { mayUseOauth } from '../../enterprise-oauths/index.ts';
import { lockForWrites } from '../../hosted-repositories/index.ts';

const migrationRow = {
  migration_id: 'uuid',
  mode: typed<MigrationMode>('text'),
  status: typed<'IN_PROGRESS' | 'COMPLETED' | 'FAILED'>('text'),
  phase: typed<MigrationPhase>('text'),
  target_provider: typed<MigrationProvider>('text'),
  target_name: 'text',
  target_clone_url: 'text',
  percent: 'smallint',
  bytes: 'bigint',
  detail: 'text?',
  code: 'text?',
  report: typed<MigrationReport | null>('jsonb'),
  requested_by: 'uuid',
  created_at: 'timestamptz',
  started_at: 'timestamptz?',
  ended_at: 'timestamptz?',
  lease_until: 'timestamptz?',
} satisfies ColumnTypes;
export type MigrationRow = RowOf<typeof migrationRow>;

export const migrationById = guardedRead(
  { parameters: { migration_id: 'uuid' }, row: migrationRow },
  `
  select m.migration_id, m.mode, m.status, m.phase, m.target_provider, m.target_name, m.target_clone_url, m.percent,
    m.bytes, m.detail, m.code, m.report, m.requested_by, m.created_at, m.started_at, m.ended_at, m.lease_until
  from repository_migration m
  where m.account_id = $account_id and m.project_id = $project_id and m.migration_id = $migration_id`,
);

/** What a start is checked against. One row, also if the project has no repository. */
export const startOfMigration = guardedRead(
  {
    parameters: { oauth_id: 'uuid?' },
    row: {
      has_repository: 'boolean',
      provider: 'text?',
      clone_url: 'text?',
      running_id: 'uuid?',
      oauth_provider: 'text?',
      oauth_tenant_id: 'text?',
    },
  },
  `
  select r.project_id is not null as has_repository, r.provider, r.clone_url,
    m.migration_id as running_id, o.provider as oauth_provider, o.tenant_id as oauth_tenant_id
  from (values (true)) as always (yes)
  left join repository r on r.account_id = $account_id and r.project_id = $project_id
  left join repository_migration m
    on m.account_id = $account_id and m.project_id = $project_id and m.status = 'IN_PROGRESS'
  left join enterprise_oauth o on o.account_id = $account_id and o.enterprise_oauth_id = $oauth_id::uuid
    and ${mayUseOauth}`,
);

const newMigration = {
  account_id: 'uuid',
  project_id: 'uuid',
  migration_id: 'uuid',
  mode: 'text',
  status: 'text',
  phase: 'text',
  target_provider: 'text',
  target_name: 'text',
  target_clone_url: 'text',
  provider_parameters: 'jsonb',
  enterprise_oauth_id: 'uuid?',
  overwrite: 'boolean',
  sealed_token: 'bytea?',
  requested_by: 'uuid',
  created_at: 'timestamptz',
} as const;
const insertOne = insertStatement('repository_migration', newMigration);
const noteToken = insertStatement('git_token_seen', {
  account_id: 'uuid',
  fingerprint: 'bytea',
  seen_at: 'timestamptz',
});
// The deletion of a project waits for this lock, and then sees the migration.
const lockProject = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' } },
  'select from project where account_id = $account_id and project_id = $project_id for key share',
);
const running = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: { migration_id: 'uuid' } },
  `
  select migration_id from repository_migration
  where account_id = $account_id and project_id = $project_id and status = 'IN_PROGRESS'`,
);

export interface NewMigration {
  projectId: string;
  migrationId: string;
  mode: MigrationMode;
  targetProvider: MigrationProvider;
  targetName: string;
  targetCloneUrl: string;
  parameters: Readonly<Record<string, string>>;
  enterpriseOauthId: string | undefined;
  overwrite: boolean;
  token: { sealed: Buffer; fingerprint: Buffer } | undefined;
}

/**
 * Starts a migration. The token is noted as used in the same transaction, so that a start that is refused
 * does not use it up.
 *
 * @param isSame whether the target is the repository that is locked now
 * @throws `repository-missing`, `same-repository`, `migration-in-progress`, `provider-token-used`
 */
export async function insertMigration(
  tx: Transaction,
  scope: Scope,
  made: NewMigration,
  now: Date,
  isSame: (cloneUrl: string | null) => boolean,
): Promise<void> {
  const place = { account_id: scope.accountId, project_id: made.projectId };
  tx.send(lockProject, place);
  const at = { accountId: scope.accountId, projectId: made.projectId };
  const repository = await lockForWrites(tx, at, 'exclusive');
  if (repository === undefined) throw problem('repository-missing');
  const [other] = await tx.query(running, place);
  if (other !== undefined) throw problem('migration-in-progress', { migrationId: other.migration_id });
  if (isSame(repository.clone_url)) throw problem('same-repository', { url: made.targetCloneUrl });
  tx.onConstraint('repository_migration_lock', () =>
    problem('migration-in-progress', { migrationId: 'that another request started' }),
  );
  tx.onConstraint('git_token_seen_key', () => problem('provider-token-used'));
  tx.send(insertOne, {
    ...place,
    migration_id: made.migrationId,
    mode: made.mode,
    status: 'IN_PROGRESS',
    phase: 'QUEUED',
    target_provider: made.targetProvider,
    target_name: made.targetName,
    target_clone_url: made.targetCloneUrl,
    provider_parameters: JSON.stringify(made.parameters),
    enterprise_oauth_id: made.enterpriseOauthId ?? null,
    overwrite: made.overwrite,
    sealed_token: made.token?.sealed ?? null,
    requested_by: scope.actorId,
    created_at: now,
  });
  if (made.token !== undefined)
    tx.send(noteToken, {
      account_id: scope.accountId,
      fingerprint: made.token.fingerprint,
      seen_at: now,
    });
}

/** Whether a token was used before: reads no secret, and needs no permission. */
export const tokenSeen = statement(
  { parameters: { account_id: 'uuid', fingerprint: 'bytea' }, row: { found: 'boolean' } },
  'select exists (select from git_token_seen where account_id = $account_id and fingerprint = $fingerprint) as found',
);
