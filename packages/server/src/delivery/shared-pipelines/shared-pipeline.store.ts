/** The table `shared_pipeline_version`. The latest version of a group is the newest enabled one. */
import { listedSharedPipelineLimit } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { insertManifest, keptIgnored, type Upload } from '../artifacts/index.ts';
import type { ManifestUse } from '../blobs/index.ts';
import type { ListedPipeline, VersionRow } from './shared-pipeline.ts';

const columns = 'v.prefix, v.version_name, v.branch, v.commit_hash, v.provider, v.enabled, v.created_at';
const newestFirst = 'v.created_at desc, v.version_name desc';

/** The pipelines of a manifest `m` as they are listed, by name: all, or so many. */
const listedPipelines = (limit: string) => `
  (select coalesce(json_agg(json_build_object('name', p ->> 'name', 'type', p ->> 'type', 'description', p ->> 'description')), '[]')
   from (
     select p from jsonb_array_elements(m.pipelines) as each (p)
     order by p ->> 'name' collate "C", p ->> 'type' collate "C" limit ${limit}) listed)`;

/**
 * Parameters: prefix. Of the group's newest version, which the next one may be much like; one row in any
 * case.
 */
export const newestManifest = guardedRead<{ manifest_digest: string | null }>(`
  select (
    select v.manifest_digest from shared_pipeline_version v where v.account_id = $1 and v.prefix = $9
    order by ${newestFirst} limit 1) as manifest_digest`);

const inAccount = 'v.account_id = $1 and (not $9::boolean or v.enabled)';
const versionPageOf = (where: string, [limit, offset]: [string, string]) =>
  guardedPage<VersionRow>({
    rows: `
      select ${columns} from shared_pipeline_version v where ${where}
      order by v.created_at desc, v.prefix desc, v.version_name desc limit ${limit} offset ${offset}`,
    total: `select count(*)::bigint from shared_pipeline_version v where ${where}`,
  });

/** Parameters: enabled only, limit, offset. */
export const versionPage = versionPageOf(inAccount, ['$10', '$11']);
/** Parameters: enabled only, prefix, limit, offset. */
export const versionPageOfGroup = versionPageOf(`${inAccount} and v.prefix = $10`, ['$11', '$12']);

type VersionWithPipelines = VersionRow & { pipelines: ListedPipeline[] };
const versionWhere = (condition: string) =>
  guardedRead<VersionWithPipelines>(`
    select ${columns}, ${listedPipelines('all')} as pipelines
    from shared_pipeline_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest
    where v.account_id = $1 and v.prefix = $9 and ${condition}
    order by ${newestFirst} limit 1`);

/** Parameters: prefix. */
export const latestVersion = versionWhere('v.enabled');
/** Parameters: prefix, version. */
export const namedVersion = versionWhere('v.version_name = $10');

export interface GroupRow {
  prefix: string;
  version_name: string | null;
  pipeline_count: number | null;
  pipelines: ListedPipeline[] | null;
}

/** Parameters: limit, offset. */
export const groupPage = guardedPage<GroupRow>({
  rows: `
    select g.prefix, latest.version_name, latest.pipeline_count, latest.pipelines
    from (
      select distinct prefix from shared_pipeline_version where account_id = $1 order by prefix limit $9 offset $10) g
    left join lateral (
      select v.version_name, jsonb_array_length(m.pipelines) as pipeline_count,
        ${listedPipelines(String(listedSharedPipelineLimit))} as pipelines
      from shared_pipeline_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest
      where v.account_id = $1 and v.prefix = g.prefix and v.enabled
      order by ${newestFirst} limit 1) latest on true
    order by g.prefix`,
  total: 'select count(distinct prefix)::bigint from shared_pipeline_version where account_id = $1',
});

const insertOne = statement(`
  insert into shared_pipeline_version (account_id, prefix, version_name, manifest_digest, branch, commit_hash, provider, enabled,
    created_by, created_at, ignored_pipelines)
  values ($1, $2, $3, $4, $5, $6, 'headgate', true, $7, $8, $9)`);

export interface NewSharedVersion {
  prefix: string;
  versionName: string;
  branch: string | null;
  commitHash: string | null;
}

/** Makes the whole version visible with the commit. */
export async function insertVersion(
  tx: Transaction,
  scope: Scope,
  version: NewSharedVersion,
  upload: Upload,
  now: Date,
): Promise<void> {
  const { prefix, versionName, branch, commitHash } = version;
  tx.onConstraint('shared_pipeline_version_exists', () =>
    problem('shared-version-exists', { prefix, versionName }),
  );
  await insertManifest(tx, scope, upload, now);
  const named = [scope.accountId, prefix, versionName, upload.manifest.digest, branch, commitHash];
  tx.send(insertOne, [...named, scope.actorId, now, keptIgnored(upload)]);
}

const setEnabled = statement<{ enabled_before: boolean }>(`
  update shared_pipeline_version v set enabled = $4
  from (
    select enabled as enabled_before from shared_pipeline_version
    where account_id = $1 and prefix = $2 and version_name = $3 for update) was
  where v.account_id = $1 and v.prefix = $2 and v.version_name = $3
  returning was.enabled_before`);

/** Whether it was enabled before. Throws `shared-version-not-found`. */
export async function enableVersion(
  tx: Transaction,
  scope: Scope,
  named: { prefix: string; versionName: string },
  enabled: boolean,
): Promise<boolean> {
  const [row] = await tx.query(setEnabled, [scope.accountId, named.prefix, named.versionName, enabled]);
  if (row === undefined) throw problem('shared-version-not-found', named);
  return row.enabled_before;
}

/** A version of shared pipelines is there. */
export const sharedVersionsUse: ManifestUse =
  'exists (select from shared_pipeline_version v where v.account_id = $1 and v.manifest_digest = m.digest)';
