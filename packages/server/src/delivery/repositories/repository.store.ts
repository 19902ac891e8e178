/** The table `repository`, with the lock of migrations. */
import type { RepositoryProvider } from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { rulesOfRepository, type StoredRule } from './delivery-rule.store.ts';

const settingTypes = {
  project_id: 'uuid',
  provider: typed<RepositoryProvider>('text'),
  repository_name: 'text',
  clone_url: 'text?',
  provider_parameters: typed<Record<string, string>>('jsonb'),
  default_branch: 'text?',
  protected_branches: 'text[]?',
  enterprise_oauth_id: 'uuid?',
  sealed_credential: 'bytea?',
  credential_origin: 'text?',
  credential_expires_at: 'timestamptz?',
  /** Why the credential could not be renewed. */
  credential_problem: 'text?',
  version: 'bigint',
  created_by: 'uuid',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} satisfies ColumnTypes;
const repositoryRow = {
  ...settingTypes,
  /** The migration that is in progress. */
  migration_id: 'uuid?',
  delivery_rules: typed<StoredRule[] | null>('jsonb'),
} satisfies ColumnTypes;
export type RepositorySettings = RowOf<typeof settingTypes>;
export type RepositoryRow = RowOf<typeof repositoryRow>;

const columns = `
  r.project_id, r.provider, r.repository_name, r.clone_url, r.provider_parameters, r.default_branch, r.protected_branches,
  r.enterprise_oauth_id, r.sealed_credential, r.credential_origin, r.credential_expires_at, r.credential_problem, r.version,
  r.created_by, r.created_at, r.updated_at,
  (select m.migration_id from repository_migration m
    where m.account_id = r.account_id and m.project_id = r.project_id and m.status = 'IN_PROGRESS') as migration_id,
  ${rulesOfRepository} as delivery_rules`;
const ofProject = `
  select ${columns} from repository r where r.account_id = $account_id and r.project_id = $project_id`;

export const repositoryOfProject = guardedRead({ row: repositoryRow }, ofProject);

const selectOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: repositoryRow },
  ofProject,
);

export interface RepositoryPlace {
  accountId: string;
  projectId: string;
}

const keyOf = ({ accountId, projectId }: RepositoryPlace) => ({
  account_id: accountId,
  project_id: projectId,
});

/** Without a check of rights. */
export async function findRepository(read: Read, place: RepositoryPlace): Promise<RepositoryRow | undefined> {
  return (await read(selectOne, keyOf(place)))[0];
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: repositoryRow },
  `${ofProject} for update of r`,
);

/** Locks the repository of a project. @throws `repository-not-found`, `migration-in-progress` */
export async function lockRepository(tx: Transaction, place: RepositoryPlace): Promise<RepositoryRow> {
  const [row] = await tx.query(lockOne, keyOf(place));
  if (row === undefined) throw problem('repository-not-found');
  requireNoMigration(row);
  return row;
}

export function requireNoMigration({ migration_id: migrationId }: RepositoryRow): void {
  if (migrationId !== null) throw problem('migration-in-progress', { migrationId });
}

const insertOne = insertStatement('repository', {
  account_id: 'uuid',
  ...settingTypes,
  provider_parameters: 'jsonb',
});

/** @throws `repository-exists`, `unknown-enterprise-oauth` */
export function insertRepository(tx: Transaction, accountId: string, row: RepositorySettings): void {
  const id = row.enterprise_oauth_id ?? '';
  tx.onConstraint('repository_key', () => problem('repository-exists'));
  tx.onConstraint('repository_oauth', () => problem('unknown-enterprise-oauth', { id }));
  tx.send(insertOne, {
    account_id: accountId,
    ...row,
    provider_parameters: JSON.stringify(row.provider_parameters),
  });
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      repository_name: 'text',
      provider_parameters: 'jsonb',
      default_branch: 'text?',
      protected_branches: 'text[]?',
      sealed_credential: 'bytea?',
      updated_at: 'timestamptz',
    },
  },
  `
  update repository
  set repository_name = $repository_name, provider_parameters = $provider_parameters, default_branch = $default_branch,
    protected_branches = $protected_branches, sealed_credential = $sealed_credential, updated_at = $updated_at,
    version = version + 1
  where account_id = $account_id and project_id = $project_id`,
);

export function updateRepositoryRow(tx: Transaction, accountId: string, row: RepositoryRow): void {
  tx.send(updateOne, {
    account_id: accountId,
    project_id: row.project_id,
    repository_name: row.repository_name,
    provider_parameters: JSON.stringify(row.provider_parameters),
    default_branch: row.default_branch,
    protected_branches: row.protected_branches,
    sealed_credential: row.sealed_credential,
    updated_at: row.updated_at,
  });
}

const updateCredential = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      sealed_credential: 'bytea',
      credential_origin: 'text',
      updated_at: 'timestamptz',
    },
  },
  `
  update repository
  set sealed_credential = $sealed_credential, credential_origin = $credential_origin, credential_expires_at = null,
    credential_problem = null, renewal_until = null, enterprise_oauth_id = null, updated_at = $updated_at, version = version + 1
  where account_id = $account_id and project_id = $project_id`,
);

/** Replaces the credential, and the connection if one was used. */
export function storeCredential(
  tx: Transaction,
  { accountId, projectId }: RepositoryPlace,
  credential: { sealed: Buffer; origin: string; now: Date },
): void {
  tx.send(updateCredential, {
    account_id: accountId,
    project_id: projectId,
    sealed_credential: credential.sealed,
    credential_origin: credential.origin,
    updated_at: credential.now,
  });
}

const noteOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', clone_url: 'text', default_branch: 'text' } },
  `
  update repository set default_branch = $default_branch
  where account_id = $account_id and project_id = $project_id and clone_url = $clone_url and default_branch is null`,
);

/** Keeps the default branch that the host names, unless one was set. */
export async function noteDefaultBranch(
  read: Read,
  place: RepositoryPlace,
  found: { cloneUrl: string; branch: string },
): Promise<void> {
  await read(noteOne, { ...keyOf(place), clone_url: found.cloneUrl, default_branch: found.branch });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' } },
  'delete from repository where account_id = $account_id and project_id = $project_id',
);

export function deleteRepositoryRow(tx: Transaction, place: RepositoryPlace): void {
  tx.send(deleteOne, keyOf(place));
}

/** With the time of creation: a repository that is associated again has other tags. */
export function renderRepositoryEtag(row: RepositorySettings): string {
  return makeEntityTag(row.project_id, `${row.version}-${row.created_at.getTime().toString(36)}`);
}
