/**
 * SQL that reads what a start needs. Of a version's pipelines it reads only that: a version may have megabytes of
 * descriptions, which the server does not parse for each start.
 */
import { type IgnoredPipeline, sharedArtifactLimit, type VariableType } from '@headgate/contract';
import {
  listCandidatePaths,
  pipelineExtensions,
  pipelineNameOf,
  type SharedPipelineUse,
} from '@headgate/pipelines';
import { type PipelineDescription, selectChosenVersion } from '../../delivery/artifacts/index.ts';
import { type ColumnTypes, typed } from '../../kernel/database/database.ts';
import { countQueuedRuns } from '../../kernel/work/queued-runs.ts';
import { budgetStopType, selectBudgetStop } from '../../records/budgets/index.ts';

/** Enough to find the nearest name of an ordinary version. */
const knownPathLimit = 2_000;

export const startColumns = {
  default_agent_id: 'uuid?',
  /** Of an account with one agent, if the environment has no default agent. */
  only_agent_id: 'text?',
  /** Null if the environment has no such version. */
  version_name: 'text?',
  enabled: 'boolean?',
  manifest_digest: 'text?',
  /** The pipelines with the requested names, of either type. Null if there is no such version. */
  pipelines: typed<PipelineDescription[] | null>('jsonb'),
  /** Some paths of the version, if a requested name is missing. */
  known_paths: typed<string[] | null>('jsonb'),
  /** The first distinct uses of shared pipelines, of all pipelines of the version. */
  uses: typed<SharedPipelineUse[] | null>('jsonb'),
  /** The files with the requested names that the upload ignored. */
  ignored: typed<IgnoredPipeline[] | null>('jsonb'),
  /** Of the project's variables that are named. */
  variable_types: typed<Record<string, VariableType>>('json'),
  /** Counted up to the limit. */
  queued_runs: 'integer',
  /** Null if the budget of the project stops nothing. */
  budget_stop: budgetStopType,
} satisfies ColumnTypes;

/**
 * SQL: `startColumns` of the environment `e`, of what `joinStart` joins to it. It takes the parameters
 * `variable_names`, `queue_limit` and `now`.
 */
export const selectStart = `
    e.default_agent_id, v.version_name, v.enabled, v.manifest_digest,
    case when e.default_agent_id is null then (
      select case when count(*) = 1 then min(agent_id::text) end from (
        select agent_id from agent a where a.account_id = e.account_id order by agent_id limit 2) two
    ) end as only_agent_id,
    found.pipelines, more.known_paths, more.uses, more.ignored,
    (select coalesce(json_object_agg(name, type), '{}') from variable
      where account_id = e.account_id and project_id = e.project_id
        and name = any ($variable_names::text[])) as variable_types,
    ${countQueuedRuns('e.account_id', 'e.project_id', 'e.name', '$queue_limit')} as queued_runs,
    ${selectBudgetStop('e.account_id', 'e.project_id', '$now')} as budget_stop`;

/** The names that `joinStartPipelines` takes. */
export function renderNames(pipelineNames: readonly string[]): string {
  const names = pipelineNames.flatMap(listCandidatePaths).map(pipelineNameOf);
  return JSON.stringify([...new Set(names)]);
}

/**
 * SQL that follows `from environment e`.
 *
 * @param of what stands before the names of the place: `$`, or the alias of a table and a dot
 * @param names SQL for the requested names without extension, a jsonb array
 */
export const joinStart = (of: string, names: string) => `
  left join lateral (${selectChosenVersion('version_name, enabled, manifest_digest, ignored_pipelines', of)}) v on true
  left join manifest m on m.account_id = e.account_id and m.digest = v.manifest_digest
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
