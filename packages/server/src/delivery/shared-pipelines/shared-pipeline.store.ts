/** The table `shared_pipeline_version`. The latest version of a group is the newest enabled one. */
import { listedSharedPipelineLimit } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { insertManifest, renderIgnoredPipelines, type Upload } from '../artifacts/index.ts';
import type { ManifestUse } from '../blobs/index.ts';
import { type ListedPipeline, versionRow } from './shared-pipeline.ts';

const columns = 'v.prefix, v.version_name, v.branch, v.commit_hash, v.provider, v.enabled, v.created_at';
const newestFirst = 'v.created_at desc, v.version_name desc';

/** SQL: the pipelines of a manifest `m` by name, all or a limited number. */
const selectListedPipelines = (limit: string) => `
  (select coalesce(json_agg(json_build_object('name', p ->> 'name', 'type', p ->> 'type', 'description', p ->> 'description')), '[]')
   from (
     select p from jsonb_array_elements(m.pipelines) as each (p)
     order by p ->> 'name' collate "C", p ->> 'type' collate "C" limit ${limit}) listed)`;

/** The newest version of the group, to which the next one may be similar; always one row. */
export const newestManifest = guardedRead(
  { parameters: { prefix: 'text' }, row: { manifest_digest: 'text?' } },
  `
  select (
    select v.manifest_digest from shared_pipeline_version v where v.account_id = $account_id and v.prefix = $prefix
    order by ${newestFirst} limit 1) as manifest_digest`,
);

const inAccount = 'v.account_id = $account_id and (not $enabled_only::boolean or v.enabled)';
const pageWhere = (where: string) => ({
  rows: `
    select ${columns} from shared_pipeline_version v where ${where}
    order by v.created_at desc, v.prefix desc, v.version_name desc limit $limit offset $offset`,
  total: `select count(*)::bigint from shared_pipeline_version v where ${where}`,
});

export const versionPage = guardedPage(
  { parameters: { enabled_only: 'boolean', limit: 'bigint', offset: 'bigint' }, row: versionRow },
  pageWhere(inAccount),
);
export const versionPageOfGroup = guardedPage(
  {
    parameters: { enabled_only: 'boolean', prefix: 'text', limit: 'bigint', offset: 'bigint' },
    row: versionRow,
  },
  pageWhere(`${inAccount} and v.prefix = $prefix`),
);

const versionWithPipelines = {
  ...versionRow,
  pipelines: typed<ListedPipeline[]>('json'),
} satisfies ColumnTypes;
const firstWhere = (condition: string) => `
  select ${columns}, ${selectListedPipelines('all')} as pipelines
  from shared_pipeline_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest
  where v.account_id = $account_id and v.prefix = $prefix and ${condition}
  order by ${newestFirst} limit 1`;

export const latestVersion = guardedRead(
  { parameters: { prefix: 'text' }, row: versionWithPipelines },
  firstWhere('v.enabled'),
);
export const namedVersion = guardedRead(
  { parameters: { prefix: 'text', version_name: 'text' }, row: versionWithPipelines },
  firstWhere('v.version_name = $version_name'),
);

const groupRow = {
  prefix: 'text',
  version_name: 'text?',
  pipeline_count: 'integer?',
  pipelines: typed<ListedPipeline[] | null>('json'),
} satisfies ColumnTypes;
export type GroupRow = RowOf<typeof groupRow>;

export const groupPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: groupRow },
  {
    rows: `
    select g.prefix, latest.version_name, latest.pipeline_count, latest.pipelines
    from (
      select distinct prefix from shared_pipeline_version where account_id = $account_id order by prefix
        limit $limit offset $offset) g
    left join lateral (
      select v.version_name, jsonb_array_length(m.pipelines) as pipeline_count,
        ${selectListedPipelines(String(listedSharedPipelineLimit))} as pipelines
      from shared_pipeline_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest
      where v.account_id = $account_id and v.prefix = g.prefix and v.enabled
      order by ${newestFirst} limit 1) latest on true
    order by g.prefix`,
    total:
      'select count(distinct prefix)::bigint from shared_pipeline_version where account_id = $account_id',
  },
);

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      prefix: 'text',
      version_name: 'text',
      manifest_digest: 'text',
      branch: 'text?',
      commit_hash: 'text?',
      created_by: 'uuid',
      created_at: 'timestamptz',
      ignored_pipelines: 'jsonb',
    },
  },
  `
  insert into shared_pipeline_version (account_id, prefix, version_name, manifest_digest, branch, commit_hash, provider, enabled,
    created_by, created_at, ignored_pipelines)
  values ($account_id, $prefix, $version_name, $manifest_digest, $branch, $commit_hash, 'headgate', true,
    $created_by, $created_at, $ignored_pipelines)`,
);

export interface NewSharedVersion {
  prefix: string;
  versionName: string;
  branch: string | null;
  commitHash: string | null;
}

/** The whole version becomes visible at commit. */
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
  tx.send(insertOne, {
    account_id: scope.accountId,
    prefix,
    version_name: versionName,
    manifest_digest: upload.manifest.digest,
    branch,
    commit_hash: commitHash,
    created_by: scope.actorId,
    created_at: now,
    ignored_pipelines: renderIgnoredPipelines(upload),
  });
}

const setEnabled = statement(
  {
    parameters: { account_id: 'uuid', prefix: 'text', version_name: 'text', enabled: 'boolean' },
    row: { enabled_before: 'boolean' },
  },
  `
  update shared_pipeline_version v set enabled = $enabled
  from (
    select enabled as enabled_before from shared_pipeline_version
    where account_id = $account_id and prefix = $prefix and version_name = $version_name for update) was
  where v.account_id = $account_id and v.prefix = $prefix and v.version_name = $version_name
  returning was.enabled_before`,
);

/** Returns whether the version was enabled before. Throws `shared-version-not-found`. */
export async function enableVersion(
  tx: Transaction,
  scope: Scope,
  named: { prefix: string; versionName: string },
  enabled: boolean,
): Promise<boolean> {
  const found = await tx.query(setEnabled, {
    account_id: scope.accountId,
    prefix: named.prefix,
    version_name: named.versionName,
    enabled,
  });
  const row = requireRow(found, () => problem('shared-version-not-found', named));
  return row.enabled_before;
}

/** A version of shared pipelines references it. */
export const sharedVersionsUse: ManifestUse =
  'exists (select from shared_pipeline_version v where v.account_id = $account_id and v.manifest_digest = m.digest)';
