/** What changes of a version once it is there: whether it is enabled, and in which environments it is. */
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import {
  answerRaces,
  countNewVersion,
  isVersion,
  noVersion,
  type VersionRow,
  versionColumns,
} from './artifact.store.ts';

export interface VersionPlace {
  projectId: string;
  environmentName: string;
  versionName: string;
}

const selectIn = (lock: string) => `
  select ${versionColumns.replaceAll(/\w+/g, 'v.$&')}
  from environment e
  left join lateral (
    select ${versionColumns} from artifact_version
    where account_id = $1 and project_id = $2 and environment_name = $3 and version_name = $4 ${lock}
  ) v on true
  where e.account_id = $1 and e.project_id = $2 and e.name = $3`;
const lockForChange = statement<Partial<VersionRow>>(selectIn('for update'));
// Against its deletion with the environment; it may be enabled or disabled meanwhile.
const lockForCopy = statement<Partial<VersionRow>>(selectIn('for key share'));

/** Locks a version until the end of the transaction. Throws `environment-not-found`, `artifact-not-found`. */
export const lockVersion = (tx: Transaction, scope: Scope, place: VersionPlace) =>
  versionIn(tx.query, lockForChange, scope, place);

/**
 * Keeps a version from being deleted until the end of the transaction. Throws `environment-not-found`,
 * `artifact-not-found`.
 */
export const holdVersion = (tx: Transaction, scope: Scope, place: VersionPlace) =>
  versionIn(tx.query, lockForCopy, scope, place);

async function versionIn(
  query: Read,
  select: typeof lockForChange,
  scope: Scope,
  { projectId, environmentName, versionName }: VersionPlace,
): Promise<VersionRow> {
  const [row] = await query(select, [scope.accountId, projectId, environmentName, versionName]);
  if (row === undefined) throw problem('environment-not-found', { name: environmentName });
  if (!isVersion(row)) throw noVersion(environmentName, versionName);
  return row;
}

const updateEnabled = statement(`
  with counted as (
    update artifact_counter set enabled_versions = enabled_versions + $6
    where account_id = $1 and project_id = $2 and environment_name = $3)
  update artifact_version set enabled = $5
  where account_id = $1 and project_id = $2 and environment_name = $3 and version_name = $4`);

/** Of a version that is locked. */
export function setEnabled(
  tx: Transaction,
  scope: Scope,
  { projectId, environmentName, versionName }: VersionPlace,
  change: { from: boolean; to: boolean },
): void {
  if (change.from === change.to) return;
  const key = [scope.accountId, projectId, environmentName, versionName];
  tx.send(updateEnabled, [...key, change.to, change.to ? 1 : -1]);
}

const insertPromoted = statement(`
  with counted as (${countNewVersion})
  insert into artifact_version (account_id, project_id, environment_name, version_name, manifest_digest, branch, commit_hash,
    provider, enabled, created_by, created_at, deployed_at, promoted_from, promoted_by, ignored_pipelines)
  select account_id, project_id, $3, version_name, manifest_digest, branch, commit_hash,
    provider, true, created_by, created_at, $7, environment_name, $6, ignored_pipelines
  from artifact_version where account_id = $1 and project_id = $2 and environment_name = $5 and version_name = $4`);

/** Copies a version that is held to another environment. */
export function insertPromotedVersion(
  tx: Transaction,
  scope: Scope,
  { projectId, environmentName, versionName }: VersionPlace,
  sourceEnvironmentName: string,
  now: Date,
): void {
  answerRaces(tx, environmentName, versionName);
  const key = [scope.accountId, projectId, environmentName, versionName];
  tx.send(insertPromoted, [...key, sourceEnvironmentName, scope.actorId, now]);
}
