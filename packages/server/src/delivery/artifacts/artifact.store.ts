/** The tables `manifest` and `artifact_version`. */
import type { ArtifactDetails } from '@headgate/contract';
import { type Read, statement, type Transaction } from '../../kernel/database.ts';
import { guardedPage, guardedRead } from '../../kernel/guarded-read.ts';
import type { Scope } from '../../kernel/permissions.ts';
import { problem } from '../../kernel/problems.ts';
import { type ManifestUse, requireListed, takeBlobs } from '../blobs/index.ts';
import type { PipelineDescription } from './pipeline-description.ts';
import type { ManifestFile, Upload } from './upload.ts';

interface VersionRow {
  version_name: string;
  branch: string | null;
  commit_hash: string | null;
  provider: string;
  enabled: boolean;
  created_at: Date;
  deployed_at: Date;
}

const columns = 'version_name, branch, commit_hash, provider, enabled, created_at, deployed_at';
const inEnvironment = 'account_id = $1 and project_id = $3 and environment_name = $9';
const environmentExists = `exists (select from environment e where e.account_id = $1 and e.project_id = $3 and e.name = $9)`;

/** Parameters: environment, enabled only, limit, offset. Without the environment there is a page, whose total is null. */
export const versionPage = guardedPage<VersionRow, number | null>({
  rows: `
    select ${columns} from artifact_version where ${inEnvironment} and (not $10::boolean or enabled)
    order by deployed_at desc, version_name desc limit $11 offset $12`,
  total: `
    select case when ${environmentExists} then (
      select count(*) from artifact_version where ${inEnvironment} and (not $10::boolean or enabled))::bigint end as total`,
});

/** Parameters: environment, version or null for the newest enabled one. One row when the environment exists, with or without a version. */
export const versionWithPaths = guardedRead<Partial<VersionRow> & { paths: string[] | null }>(`
  select v.*, (
    select array_agg(file ->> 'path' order by ordinal)
    from manifest m, jsonb_array_elements(m.files) with ordinality as listed (file, ordinal)
    where m.account_id = $1 and m.digest = v.manifest_digest
  ) as paths
  from environment e
  left join lateral (
    select ${columns}, manifest_digest from artifact_version
    where ${inEnvironment} and case when $10::text is null then enabled else version_name = $10 end
    order by deployed_at desc, version_name desc limit 1
  ) v on true
  where e.account_id = $1 and e.project_id = $3 and e.name = $9`);

const insertFiles = statement(`
  insert into manifest (account_id, digest, files, digests, pipelines, created_at)
  values ($1, $2, $3, array(select decode(file, 'hex') from unnest($4::text[]) as file), $5, $6)
  on conflict (account_id, digest) do update set condemned_at = null where manifest.condemned_at is not null`);
const insertVersion = statement(`
  insert into artifact_version (account_id, project_id, environment_name, version_name, manifest_digest, branch, commit_hash,
    provider, enabled, created_by, created_at, deployed_at)
  values ($1, $2, $3, $4, $5, $6, $7, 'headgate', true, $8, $9, $9)`);

/**
 * Keeps what an upload holds: its blobs, and the manifest that its digest names. The first thing in its transaction; what refers to the manifest
 * comes after it.
 */
export function insertManifest(tx: Transaction, { accountId }: Scope, upload: Upload, now: Date): void {
  takeBlobs(tx, accountId, upload.blobs, now);
  const { digest, files, pipelines, blobs } = upload;
  const values = [JSON.stringify(files), blobs.digests, JSON.stringify(pipelines), now] as const;
  tx.send(insertFiles, [accountId, digest, ...values]);
  requireListed(tx, accountId, digest, blobs);
}

export interface NewVersion {
  projectId: string;
  environmentName: string;
  versionName: string;
  branch: string | null;
  commitHash: string | null;
}

/** Makes the whole version visible with the commit. */
export function insertArtifact(
  tx: Transaction,
  scope: Scope,
  version: NewVersion,
  upload: Upload,
  now: Date,
): void {
  const { projectId, environmentName, versionName } = version;
  tx.onConstraint('artifact_version_exists', () =>
    problem('version-exists', { versionName, environmentName }),
  );
  tx.onConstraint('artifact_version_in_environment', () =>
    problem('environment-not-found', { name: environmentName }),
  );
  insertManifest(tx, scope, upload, now);
  const { branch, commitHash } = version;
  const values = [
    scope.accountId,
    projectId,
    environmentName,
    versionName,
    upload.digest,
    branch,
    commitHash,
  ];
  tx.send(insertVersion, [...values, scope.actorId, now]);
}

/** A version is there. */
export const versionsUse: ManifestUse =
  'exists (select from artifact_version v where v.account_id = $1 and v.manifest_digest = m.digest)';

export interface RunnableVersion {
  version_name: string;
  enabled: boolean;
  manifest_digest: string;
  pipelines: PipelineDescription[];
}

const selectRunnable = statement<RunnableVersion>(`
  select v.version_name, v.enabled, v.manifest_digest, m.pipelines
  from artifact_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest
  where v.account_id = $1 and v.project_id = $2 and v.environment_name = $3
    and case when $4::text is null then v.enabled else v.version_name = $4 end
  order by v.deployed_at desc, v.version_name desc limit 1`);

/** The version that a run takes: the named one, else the newest enabled one. Throws `artifact-not-found` and `artifact-disabled`. */
export async function runnableVersion(
  tx: Transaction,
  scope: Scope,
  about: { projectId: string; environmentName: string; versionName: string | undefined },
): Promise<RunnableVersion> {
  const { projectId, environmentName, versionName } = about;
  const [row] = await tx.query(selectRunnable, [
    scope.accountId,
    projectId,
    environmentName,
    versionName ?? null,
  ]);
  if (row === undefined) throw noVersion(environmentName, versionName);
  if (!row.enabled) throw problem('artifact-disabled', { versionName: row.version_name, environmentName });
  return row;
}

export function noVersion(environmentName: string, versionName: string | undefined) {
  const environment = JSON.stringify(environmentName);
  const what =
    versionName === undefined
      ? `The environment ${environment} has no enabled artifact version; upload one first.`
      : `The environment ${environment} has no artifact version ${JSON.stringify(versionName)}.`;
  return problem('artifact-not-found', { what });
}

const selectManifest = statement<{ files: ManifestFile[] }>(
  'select files from manifest where account_id = $1 and digest = $2',
);

export async function manifestFiles(
  read: Read,
  accountId: string,
  digest: string,
): Promise<ManifestFile[] | undefined> {
  const [row] = await read(selectManifest, [accountId, digest]);
  return row?.files;
}

export function presentVersion(row: VersionRow): ArtifactDetails {
  const details: ArtifactDetails = {
    createdAt: row.created_at.toISOString(),
    deployedAt: row.deployed_at.toISOString(),
    enabled: row.enabled,
    provider: row.provider,
    versionName: row.version_name,
  };
  if (row.branch !== null) details.branch = row.branch;
  if (row.commit_hash !== null) details.commitHash = row.commit_hash;
  return details;
}

export function isVersion(row: Partial<VersionRow>): row is VersionRow {
  return typeof row.version_name === 'string';
}
