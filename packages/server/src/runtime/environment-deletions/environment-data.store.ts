/** Whether an environment may have data on an agent. */
import { guardedRead } from '../../kernel/security/guarded-read.ts';

/** Nothing runs without a version, and in a warehouse of another kind it is not the agent that has the tables. */
export const dataOfEnvironment = guardedRead(
  { parameters: { environment_name: 'text' }, row: { may_hold: 'boolean' } },
  `
  select p.warehouse = 'DUCKDB'
    and exists (select from agent a where a.account_id = e.account_id and a.status <> 'pending')
    and exists (select from artifact_version v where v.account_id = e.account_id and v.project_id = e.project_id
      and v.environment_name = e.name) as may_hold
  from environment e
  join project p on p.account_id = e.account_id and p.project_id = e.project_id
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);
