/** The tables `artifact_version` and `artifact_counter`. */
import { createHash } from 'node:crypto';
import type { ArtifactDetails } from '@headgate/contract';
import { type ColumnTypes, type RowOf, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { ManifestUse } from '../blobs/index.ts';
import { gateColumns, gateRow } from '../quality-rules/index.ts';
import { renderIgnoredPipelines } from './ignored-pipelines.ts';
import { chunksOfManifest, insertManifest } from './manifest.store.ts';
import type { Upload } from './upload/collection.ts';

const versionRow = {
  version_name: 'text',
  manifest_digest: 'text',
  branch: 'text?',
  commit_hash: 'text?',
  provider: 'text',
  enabled: 'boolean',
  created_at: 'timestamptz',
  deployed_at: 'timestamptz',
  promoted_from: 'text?',
  promoted_by: 'uuid?',
} satisfies ColumnTypes;
export type VersionRow = RowOf<typeof versionRow>;
/** If the environment does not have the version, all columns are null. */
export const maybeVersionRow = {
  version_name: 'text?',
  manifest_digest: 'text?',
  branch: 'text?',
  commit_hash: 'text?',
  provider: 'text?',
  enabled: 'boolean?',
  created_at: 'timestamptz?',
  deployed_at: 'timestamptz?',
  promoted_from: 'text?',
  promoted_by: 'uuid?',
} satisfies ColumnTypes;
type MaybeVersionRow = RowOf<typeof maybeVersionRow>;

export const versionColumns =
  'version_name, manifest_digest, branch, commit_hash, provider, enabled, created_at, deployed_at, promoted_from, promoted_by';
const inEnvironment =
  'account_id = $account_id and project_id = $project_id and environment_name = $environment_name';
export const environmentExists = `exists (select from environment e where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name)`;
const newestFirst = 'order by deployed_at desc, version_name desc';

// Two branches, one of which the parameter disables: each has its own index, so disabled versions cost
// nothing. The start of the page is found in the index alone; only the rows of the page are fetched.
const selectPage = (condition: string) => {
  const versions = `from artifact_version where ${inEnvironment} and ${condition}`;
  return `(select ${versionColumns} ${versions} and (deployed_at, version_name) <= (
    select deployed_at, version_name ${versions} ${newestFirst} limit 1 offset $offset) ${newestFirst} limit $limit)`;
};

/** The total is null if the environment does not exist. */
export const versionPage = guardedPage(
  {
    parameters: { environment_name: 'text', enabled_only: 'boolean', limit: 'bigint', offset: 'bigint' },
    row: versionRow,
    totalType: 'bigint?',
  },
  {
    rows: `${selectPage('enabled and $enabled_only::boolean')} union all ${selectPage('not $enabled_only::boolean')} ${newestFirst}`,
    total: `
    select case when ${environmentExists} then (
      select coalesce(sum(case when $enabled_only::boolean then enabled_versions else versions end), 0)::bigint
      from artifact_counter where ${inEnvironment}) end as total`,
  },
);

/**
 * SQL: selects the named version, or the newest enabled one for null. `of` is the prefix of the place and the
 * version name: `$` for parameters, or a row of places.
 */
export function selectChosenVersion(columns: string, of = '$'): string {
  const from = `select ${columns} from artifact_version
    where account_id = ${of}account_id and project_id = ${of}project_id and environment_name = ${of}environment_name`;
  return `(${from} and enabled and ${of}version_name::text is null ${newestFirst} limit 1) union all (${from} and version_name = ${of}version_name)`;
}

/** With the manifest of the newest version, to which the next one may be similar. */
export const environmentToUploadTo = guardedRead(
  {
    parameters: { environment_name: 'text' },
    row: { newest_manifest: 'text?', ...gateRow },
  },
  `
  select ${gateColumns}, (
    select manifest_digest from artifact_version where ${inEnvironment} ${newestFirst} limit 1) as newest_manifest
  from environment e where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);

/** One row if the environment has the version. */
export const versionInEnvironment = guardedRead(
  { parameters: { environment_name: 'text', version_name: 'text' }, row: { version_name: 'text' } },
  `select version_name from artifact_version where ${inEnvironment} and version_name = $version_name`,
);

/** How many pipelines a version has, and how many of them are among those of the parameters. */
export const pipelinesAmong = guardedRead(
  {
    parameters: { digest: 'text', names: 'text[]', types: 'text[]' },
    row: { total: 'integer', present: 'integer' },
  },
  `
  select count(*)::integer as total, count(given.name)::integer as present
  from manifest m cross join jsonb_array_elements(m.pipelines) as each (p)
  left join unnest($names::text[], $types::text[]) as given (name, type)
    on given.name = p ->> 'name' and given.type = p ->> 'type'
  where m.account_id = $account_id and m.digest = $digest`,
);

/** One row if the environment exists, with or without a version. */
export const versionWithPaths = guardedRead(
  {
    parameters: { environment_name: 'text', version_name: 'text?' },
    row: { ...maybeVersionRow, paths: 'text[]?' },
  },
  `
  select v.*, (
    select array_agg(file.path order by listed.place, file.place)
    from manifest m cross join (${chunksOfManifest}) cross join unnest(c.paths) with ordinality as file (path, place)
    where m.account_id = $account_id and m.digest = v.manifest_digest
  ) as paths
  from environment e
  left join lateral (${selectChosenVersion(versionColumns)}) v on true
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);

/** The same parameters and a path. The digest is null if the version has no such file. */
export const fileOfVersion = guardedRead(
  {
    parameters: { environment_name: 'text', version_name: 'text?', path: 'text' },
    row: { version_name: 'text?', sha256: 'text?' },
  },
  `
  select v.version_name, (
    select encode(c.digests[array_position(c.paths, $path::text)], 'hex') from ${chunksOfManifest}
      where $path::text = any(c.paths)
  ) as sha256
  from environment e
  left join lateral (${selectChosenVersion('version_name, manifest_digest')}) v on true
  left join manifest m on m.account_id = $account_id and m.digest = v.manifest_digest
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);

/**
 * SQL: counts one more enabled version (docs/adr/0008), as part of the `with` of the statement that creates
 * it. That statement has the parameters of the account, project and environment.
 */
export const countNewVersion = `
  insert into artifact_counter as c (account_id, project_id, environment_name, versions,
    enabled_versions) values ($account_id, $project_id, $environment_name, 1, 1)
  on conflict (account_id, project_id, environment_name)
    do update set versions = c.versions + 1, enabled_versions = c.enabled_versions + 1`;

const insertVersion = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
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
  with counted as (${countNewVersion})
  insert into artifact_version (account_id, project_id, environment_name, version_name, manifest_digest, branch, commit_hash,
    provider, enabled, created_by, created_at, deployed_at, ignored_pipelines)
  values ($account_id, $project_id, $environment_name, $version_name, $manifest_digest, $branch, $commit_hash,
    coalesce((select provider from repository where account_id = $account_id and project_id = $project_id), 'headgate'), true, $created_by, $created_at, $created_at, $ignored_pipelines)`,
);

export interface NewVersion {
  projectId: string;
  environmentName: string;
  versionName: string;
  branch: string | null;
  commitHash: string | null;
}

/** The whole version becomes visible at commit. */
export async function insertArtifact(
  tx: Transaction,
  scope: Scope,
  version: NewVersion,
  upload: Upload,
  now: Date,
): Promise<void> {
  const { projectId, environmentName, versionName } = version;
  translateConstraints(tx, environmentName, versionName);
  await insertManifest(tx, scope, upload, now);
  tx.send(insertVersion, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    version_name: versionName,
    manifest_digest: upload.manifest.digest,
    branch: version.branch,
    commit_hash: version.commitHash,
    created_by: scope.actorId,
    created_at: now,
    ignored_pipelines: renderIgnoredPipelines(upload),
  });
}

/** Declares the problems for constraints that a new version may violate. */
export function translateConstraints(tx: Transaction, environmentName: string, versionName: string): void {
  tx.onConstraint('artifact_version_exists', () =>
    problem('version-exists', { versionName, environmentName }),
  );
  for (const constraint of ['artifact_version_in_environment', 'artifact_counter_in_environment']) {
    tx.onConstraint(constraint, () => problem('environment-not-found', { name: environmentName }));
  }
}

/** A version references it. */
export const versionsUse: ManifestUse =
  'exists (select from artifact_version v where v.account_id = $account_id and v.manifest_digest = m.digest)';

export function createVersionProblem(environmentName: string, versionName: string | undefined) {
  const environment = JSON.stringify(environmentName);
  const what =
    versionName === undefined
      ? `The environment ${environment} has no enabled artifact version; upload one first.`
      : `The environment ${environment} has no artifact version ${JSON.stringify(versionName)}.`;
  return problem('artifact-not-found', { what });
}

export function presentVersion(row: VersionRow): ArtifactDetails {
  const details: ArtifactDetails = {
    createdAt: row.created_at.toISOString(),
    deployedAt: row.deployed_at.toISOString(),
    digest: row.manifest_digest,
    enabled: row.enabled,
    provider: row.provider,
    versionName: row.version_name,
  };
  if (row.branch !== null) details.branch = row.branch;
  if (row.commit_hash !== null) details.commitHash = row.commit_hash;
  if (row.promoted_from !== null && row.promoted_by !== null) {
    const promotedAt = row.deployed_at.toISOString();
    details.promotedFrom = {
      environmentName: row.promoted_from,
      promotedAt,
      promotedBy: row.promoted_by,
    };
  }
  return details;
}

/** A hash of the returned members, which include the digest of the files. */
export function renderVersionEtag(row: VersionRow): string {
  const state = JSON.stringify(presentVersion(row));
  return `"${createHash('sha256').update(state).digest('base64url').slice(0, 16)}"`;
}

export function isVersion<Row extends MaybeVersionRow>(row: Row): row is Row & VersionRow {
  return typeof row.version_name === 'string';
}
