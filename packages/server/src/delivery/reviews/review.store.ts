/** What a review reads of the tables `artifact_version`, `schedule` and `alert_rule`. */
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { selectChosenVersion } from '../artifacts/index.ts';

/** The version is null if the environment has none of this name, or no enabled one. */
export const reviewedVersion = guardedRead(
  {
    parameters: { environment_name: 'text', version_name: 'text?' },
    row: { manifest_digest: 'text?' },
  },
  `
  select v.manifest_digest
  from environment e
  left join lateral (${selectChosenVersion('manifest_digest')}) v on true
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);

/** Schedules of a project that are read for one review. */
export const scheduleLimit = 5_000;

/** Enabled schedules, and whether an alert rule tells about a failed execution of theirs. */
export const schedulesToReview = guardedRead(
  {
    parameters: { environment_name: 'text?' },
    row: { name: 'text', pipeline_name: 'text', environment_name: 'text', has_alert: 'boolean' },
  },
  `
  select s.name, s.pipeline_name, s.environment_name, exists (
    select from alert_rule r
    where r.account_id = $account_id and r.project_id = $project_id and r.enabled and r.condition_type = 'FAILED'
      and (r.environment_name is null or r.environment_name = s.environment_name)
      and (r.schedule_id is null or r.schedule_id = s.schedule_id)
      and (r.pipeline_name is null or r.pipeline_name = s.pipeline_name
        or s.pipeline_name in (r.pipeline_name || '.orch.yaml', r.pipeline_name || '.tran.yaml')
        or r.pipeline_name in (s.pipeline_name || '.orch.yaml', s.pipeline_name || '.tran.yaml'))) as has_alert
  from schedule s
  where s.account_id = $account_id and s.project_id = $project_id and s.enabled
    and ($environment_name::text is null or s.environment_name = $environment_name)
  order by s.name limit ${scheduleLimit}`,
);
