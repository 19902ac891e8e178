/** Changes of an uploaded version: enabling, disabling and promotion. */
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { gateColumns, gateRow } from '../quality-rules/index.ts';
import {
  countNewVersion,
  createVersionProblem,
  isVersion,
  maybeVersionRow,
  translateConstraints,
  type VersionRow,
  versionColumns,
} from './artifact.store.ts';

export interface VersionPlace {
  projectId: string;
  environmentName: string;
  versionName: string;
}

const declareSelect = (lock: string) => `
  select ${versionColumns.replaceAll(/\w+/g, 'v.$&')}
  from environment e
  left join lateral (
    select ${versionColumns} from artifact_version
    where account_id = $account_id and project_id = $project_id and environment_name = $environment_name
      and version_name = $version_name ${lock}
  ) v on true
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`;
const lockForChange = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text', version_name: 'text' },
    row: maybeVersionRow,
  },
  declareSelect('for update'),
);
// Prevents its deletion with the environment. It may still be enabled or disabled meanwhile.
const lockForCopy = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text', version_name: 'text' },
    row: maybeVersionRow,
  },
  declareSelect('for key share'),
);

/**
 * Locks a version until the end of the transaction. Throws `environment-not-found` and
 * `artifact-not-found`.
 */
export const lockVersion = (tx: Transaction, scope: Scope, place: VersionPlace) =>
  findVersion(tx.query, lockForChange, scope, place);

/**
 * Prevents the deletion of a version until the end of the transaction. Throws `environment-not-found` and
 * `artifact-not-found`.
 */
export const holdVersion = (tx: Transaction, scope: Scope, place: VersionPlace) =>
  findVersion(tx.query, lockForCopy, scope, place);

async function findVersion(
  query: Read,
  select: typeof lockForChange,
  scope: Scope,
  { projectId, environmentName, versionName }: VersionPlace,
): Promise<VersionRow> {
  const [row] = await query(select, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    version_name: versionName,
  });
  if (row === undefined) throw problem('environment-not-found', { name: environmentName });
  if (!isVersion(row)) throw createVersionProblem(environmentName, versionName);
  return row;
}

/** The gate of the target of a promotion, and the manifest of the version in the source. */
export const promotedVersion = guardedRead(
  {
    parameters: { environment_name: 'text', source_environment_name: 'text', version_name: 'text' },
    row: { ...gateRow, manifest_digest: 'text?' },
  },
  `
  select ${gateColumns}, (
    select v.manifest_digest from artifact_version v
    where v.account_id = $account_id and v.project_id = $project_id
      and v.environment_name = $source_environment_name and v.version_name = $version_name) as manifest_digest
  from environment e where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);

const updateEnabled = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      version_name: 'text',
      enabled: 'boolean',
      enabled_change: 'bigint',
    },
  },
  `
  with counted as (
    update artifact_counter set enabled_versions = enabled_versions + $enabled_change
    where account_id = $account_id and project_id = $project_id and environment_name = $environment_name)
  update artifact_version set enabled = $enabled
  where account_id = $account_id and project_id = $project_id and environment_name = $environment_name
    and version_name = $version_name`,
);

/** The caller has locked the version. */
export function setEnabled(
  tx: Transaction,
  scope: Scope,
  { projectId, environmentName, versionName }: VersionPlace,
  change: { from: boolean; to: boolean },
): void {
  if (change.from === change.to) return;
  tx.send(updateEnabled, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    version_name: versionName,
    enabled: change.to,
    enabled_change: change.to ? 1 : -1,
  });
}

const insertPromoted = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      version_name: 'text',
      source_environment_name: 'text',
      promoted_by: 'uuid',
      now: 'timestamptz',
    },
  },
  `
  with counted as (${countNewVersion})
  insert into artifact_version (account_id, project_id, environment_name, version_name, manifest_digest, branch, commit_hash,
    provider, enabled, created_by, created_at, deployed_at, promoted_from, promoted_by, ignored_pipelines)
  select account_id, project_id, $environment_name, version_name, manifest_digest, branch, commit_hash,
    provider, true, created_by, created_at, $now, environment_name, $promoted_by, ignored_pipelines
  from artifact_version where account_id = $account_id and project_id = $project_id
    and environment_name = $source_environment_name and version_name = $version_name`,
);

/** Copies a version to another environment. The caller prevents its deletion. */
export function insertPromotedVersion(
  tx: Transaction,
  scope: Scope,
  { projectId, environmentName, versionName }: VersionPlace,
  sourceEnvironmentName: string,
  now: Date,
): void {
  translateConstraints(tx, environmentName, versionName);
  tx.send(insertPromoted, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    version_name: versionName,
    source_environment_name: sourceEnvironmentName,
    promoted_by: scope.actorId,
    now,
  });
}
