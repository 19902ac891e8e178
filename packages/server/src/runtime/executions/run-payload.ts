/** The members that the payloads of runs and of tests share: `runMembers` of the agent protocol. */
import { ignoredPipelineLimit } from '@headgate/contract';
import { selectWarehouse } from '../../workspace/connections/index.ts';
import { selectGeneration } from '../../workspace/environments/index.ts';

/**
 * @param variables name of the query that gives the variables of the claimed places (place-variables.ts)
 * @returns arguments of `json_build_object`; `e` is the execution, `claimed` its work
 */
export function listRunMembers(variables: string, runLimitSeconds: number): string {
  return `'projectId', e.project_id, 'environmentName', e.environment_name, 'versionName', e.version_name,
    'artifactDigest', e.manifest_digest, 'generation', ${selectGeneration('e')},
    'variables', (
      select p.variables from ${variables} p
      where p.project_id = claimed.project_id and p.environment_name = claimed.environment_name),
    'sharedArtifacts', coalesce(e.shared_artifacts, '[]'), 'timeLimitSeconds', ${runLimitSeconds},
    'ignoredPipelines', coalesce((
      select jsonb_path_query_array(v.ignored_pipelines, '$[0 to ${ignoredPipelineLimit - 1}]') from artifact_version v
      where v.account_id = e.account_id and v.project_id = e.project_id and v.environment_name = e.environment_name
        and v.version_name = e.version_name), '[]'),
    'warehouse', ${selectWarehouse('e')}`;
}
