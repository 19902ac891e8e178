/**
 * SQL that reads of a version's pipelines only what a start needs: a version may have megabytes of descriptions,
 * which the server does not parse for each start.
 */
import { type IgnoredPipeline, sharedArtifactLimit } from '@headgate/contract';
import {
  listCandidatePaths,
  pipelineExtensions,
  pipelineNameOf,
  type SharedPipelineUse,
} from '@headgate/pipelines';
import type { PipelineDescription } from '../../delivery/artifacts/index.ts';
import { type ColumnTypes, typed } from '../../kernel/database/database.ts';

/** Enough to find the nearest name of an ordinary version. */
const knownPathLimit = 2_000;

export const startPipelineColumns = {
  /** The pipelines with the requested names, of either type. Null if there is no such version. */
  pipelines: typed<PipelineDescription[] | null>('jsonb'),
  /** Some paths of the version, if a requested name is missing. */
  known_paths: typed<string[] | null>('jsonb'),
  /** The first distinct uses of shared pipelines, of all pipelines of the version. */
  uses: typed<SharedPipelineUse[] | null>('jsonb'),
  /** The files with the requested names that the upload ignored. */
  ignored: typed<IgnoredPipeline[] | null>('jsonb'),
} satisfies ColumnTypes;

/** The names that `joinStartPipelines` takes. */
export function renderNames(pipelineNames: readonly string[]): string {
  const names = pipelineNames.flatMap(listCandidatePaths).map(pipelineNameOf);
  return JSON.stringify([...new Set(names)]);
}

/**
 * For a `from` in which `m` is the manifest, and `v` the version.
 *
 * @param names SQL for the requested names without extension, a jsonb array
 */
export const joinStartPipelines = (names: string) => `
  left join lateral (
    select jsonb_path_query_array(m.pipelines, '$[*] ? (@.name == $"names"[*])', jsonb_build_object('names', ${names})) as pipelines
    offset 0
  ) found on true
  left join lateral (
    select case when exists (
      select from jsonb_array_elements_text(${names}) as requested (name)
      where not exists (select from jsonb_array_elements(found.pipelines) as each (p) where p ->> 'name' = requested.name)
    ) then (
      select jsonb_agg((p ->> 'name') || case p ->> 'type' when 'ORCHESTRATION' then '${pipelineExtensions.orchestration}' else '${pipelineExtensions.transformation}' end)
      from (select p from jsonb_array_elements(m.pipelines) as each (p) limit ${knownPathLimit}) first_pipelines
    ) end as known_paths, (
      select jsonb_agg(use order by first_place) from (
        select jsonb_strip_nulls(jsonb_build_object('prefix', use ->> 'prefix', 'versionName', use ->> 'versionName')) as use,
          min(place) as first_place
        from jsonb_path_query(m.pipelines, '$[*].sharedPipelines[*]') with ordinality as used (use, place)
        group by 1 order by 2 limit ${sharedArtifactLimit}
      ) first_uses
    ) as uses, (
      select jsonb_agg(item) from jsonb_array_elements(v.ignored_pipelines) as item
      where ${names} ? left(item ->> 'path', -${pipelineExtensions.orchestration.length})
    ) as ignored
    offset 0
  ) more on m.digest is not null`;
