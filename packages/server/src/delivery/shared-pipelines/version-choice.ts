/**
 * Which versions of shared pipelines an execution runs: chosen once, when it starts, for every use that it
 * may come to (docs/adr/0019). What cannot be chosen is told as a fault, for the step that names it may never
 * run.
 */
import { type IgnoredPipeline, type SharedArtifact, sharedArtifactLimit } from '@headgate/contract';
import { type ColumnTypes, type Read, type RowOf, statement, typed } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { PipelineDescription } from '../artifacts/index.ts';

/** Of one version; an execution may use a hundred. */
const ignoredToldLimit = 20;

const chosenRow = {
  prefix: 'text',
  requested: 'text?',
  version_name: 'text?',
  manifest_digest: 'text?',
  enabled: 'boolean?',
  known: typed<true | null>('boolean'),
  /** Null when there are none. */
  ignored_pipelines: typed<IgnoredPipeline[] | null>('jsonb'),
} satisfies ColumnTypes;
type ChosenRow = RowOf<typeof chosenRow>;

const candidate = (prefix: string, requested: string) => `
  left join lateral (
    (select version_name, manifest_digest, enabled from shared_pipeline_version
     where ${requested} is null and account_id = $account_id and prefix = ${prefix} and enabled
     order by created_at desc, version_name desc limit 1)
    union all
    select version_name, manifest_digest, enabled from shared_pipeline_version
    where account_id = $account_id and prefix = ${prefix} and version_name = ${requested}
    limit 1
  ) v on true`;

// A use that was met before is not followed again, so that groups may use each other; no more is looked up
// than is taken. What belongs to a use is asked by scalar queries, as they are answered by the keys: joined,
// all manifests and versions of the account could be gathered first. Uses come from arrays, of which few
// elements are expected: for as many as of a set of JSON, memory is laid out first that costs 20 ms.
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
      requested) ${candidate('wanted.prefix', 'wanted.requested')}
    union
    select use ->> 'prefix', use ->> 'versionName', v.version_name, v.manifest_digest, v.enabled
    from used u
    cross join lateral unnest(array(
      select jsonb_path_query(pipelines, '$[*].sharedPipelines[*]') from manifest
      where account_id = $account_id and digest = u.manifest_digest)) as named (use)
    ${candidate("named.use ->> 'prefix'", "named.use ->> 'versionName'")}
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
 * For all pipelines of a version, the one that starts first. Asks nothing when they use no shared pipelines.
 */
export async function chooseVersions(
  read: Read,
  scope: Scope,
  pipelines: readonly PipelineDescription[],
): Promise<SharedArtifact[]> {
  const uses = pipelines.flatMap((pipeline) => pipeline.sharedPipelines ?? []);
  if (uses.length === 0) return [];
  const wanted = new Map(uses.map((use) => [JSON.stringify([use.prefix, use.versionName]), use]));
  const asked = [...wanted.values()].slice(0, sharedArtifactLimit);
  const prefixes = asked.map((use) => use.prefix);
  const versionNames = asked.map((use) => use.versionName ?? null);
  const rows = await read(chooseAll, { account_id: scope.accountId, prefixes, version_names: versionNames });
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
  const group = `the shared pipelines ${JSON.stringify(prefix)}`;
  if (known === null)
    return `when the execution started, the account had no shared pipelines ${JSON.stringify(prefix)}: publish them, or correct "sharedPipelineIdPrefix", and start again`;
  if (requested === null)
    return `when the execution started, ${group} had no enabled version: enable or publish one, and start again`;
  const version = `version ${JSON.stringify(requested)} of ${group}`;
  if (version_name === null)
    return `when the execution started, there was no ${version}: publish it, or correct "versionName", and start again`;
  return `when the execution started, ${version} was disabled: enable it, or name another version, and start again`;
}
