/**
 * Chooses the versions of shared pipelines for an execution: once, when it starts, for every use that it
 * may reach (docs/adr/0019). A missing version is a fault of the step that uses it, because the step may
 * never run.
 */
import { type IgnoredPipeline, type SharedArtifact, sharedArtifactLimit } from '@headgate/contract';
import type { SharedPipelineUse } from '@headgate/pipelines';
import { type ColumnTypes, type Read, type RowOf, statement, typed } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

/** The limit of one version; an execution may use a hundred. */
const ignoredToldLimit = 20;

const chosenRow = {
  prefix: 'text',
  requested: 'text?',
  version_name: 'text?',
  manifest_digest: 'text?',
  enabled: 'boolean?',
  known: typed<true | null>('boolean'),
  /** Null if there are none. */
  ignored_pipelines: typed<IgnoredPipeline[] | null>('jsonb'),
} satisfies ColumnTypes;
type ChosenRow = RowOf<typeof chosenRow>;

const selectCandidate = (prefix: string, requested: string) => `
  left join lateral (
    (select version_name, manifest_digest, enabled from shared_pipeline_version
     where ${requested} is null and account_id = $account_id and prefix = ${prefix} and enabled
     order by created_at desc, version_name desc limit 1)
    union all
    select version_name, manifest_digest, enabled from shared_pipeline_version
    where account_id = $account_id and prefix = ${prefix} and version_name = ${requested}
    limit 1
  ) v on true`;

// Each use is followed once, so that groups may use each other, and the search stops at the limit. Scalar
// subqueries make PostgreSQL use the keys; a join may first collect all manifests and versions of the
// account. Uses are arrays, not JSON sets, because PostgreSQL expects few elements of an array; for a JSON
// set it prepares memory that costs 20 ms.
const chooseAll = statement(
  {
    parameters: {
      account_id: 'uuid',
      prefixes: 'text[]',
      version_names: typed<readonly (string | null)[]>('text[]'),
    },
    row: chosenRow,
  },
  `
  with recursive used as (
    select wanted.prefix, wanted.requested, v.version_name, v.manifest_digest, v.enabled
    from unnest($prefixes::text[], $version_names::text[]) as wanted (prefix,
      requested) ${selectCandidate('wanted.prefix', 'wanted.requested')}
    union
    select use ->> 'prefix', use ->> 'versionName', v.version_name, v.manifest_digest, v.enabled
    from used u
    cross join lateral unnest(array(
      select jsonb_path_query(pipelines, '$[*].sharedPipelines[*]') from manifest
      where account_id = $account_id and digest = u.manifest_digest)) as named (use)
    ${selectCandidate("named.use ->> 'prefix'", "named.use ->> 'versionName'")}
    where u.enabled
  )
  select u.prefix, u.requested, u.version_name, u.manifest_digest, u.enabled,
    (select true from shared_pipeline_version where account_id = $account_id and prefix = u.prefix limit 1) as known,
    (select jsonb_path_query_array(ignored_pipelines, '$[0 to ${ignoredToldLimit - 1}]') from shared_pipeline_version
      where account_id = $account_id and prefix = u.prefix and version_name = u.version_name
        and ignored_pipelines <> '[]') as ignored_pipelines
  from used u limit ${sharedArtifactLimit}`,
);

/**
 * Chooses for the uses of all pipelines of a version, those of the executed one first. Without uses it needs no
 * query.
 */
export async function chooseVersions(
  read: Read,
  { accountId }: Pick<Scope, 'accountId'>,
  uses: readonly SharedPipelineUse[],
): Promise<SharedArtifact[]> {
  if (uses.length === 0) return [];
  const distinct = new Map(uses.map((use) => [JSON.stringify([use.prefix, use.versionName]), use]));
  const chosen = [...distinct.values()].slice(0, sharedArtifactLimit);
  const prefixes = chosen.map((use) => use.prefix);
  const versionNames = chosen.map((use) => use.versionName ?? null);
  const rows = await read(chooseAll, { account_id: accountId, prefixes, version_names: versionNames });
  return rows.map(presentChoice);
}

function presentChoice(row: ChosenRow): SharedArtifact {
  const { prefix, requested, version_name: versionName, manifest_digest: artifactDigest } = row;
  const ignored = row.ignored_pipelines === null ? {} : { ignoredPipelines: row.ignored_pipelines };
  return {
    sharedPipelineIdPrefix: prefix,
    ...(requested === null ? {} : { requestedVersionName: requested }),
    ...(versionName !== null && artifactDigest !== null && row.enabled === true
      ? { versionName, artifactDigest, ...ignored }
      : { fault: explainMissingVersion(row) }),
  };
}

function explainMissingVersion({ prefix, requested, version_name, known }: ChosenRow): string {
  const name = `shared pipelines ${JSON.stringify(prefix)}`;
  const group = `the ${name}`;
  if (known === null)
    return `when the execution started, the account had no ${name}: publish them, or correct "sharedPipelineIdPrefix", and start again`;
  if (requested === null)
    return `when the execution started, ${group} had no enabled version: enable or publish one, and start again`;
  const version = `version ${JSON.stringify(requested)} of ${group}`;
  if (version_name === null)
    return `when the execution started, there was no ${version}: publish it, or correct "versionName", and start again`;
  return `when the execution started, ${version} was disabled: enable it, or name another version, and start again`;
}
