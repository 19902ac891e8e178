/**
 * What runs used, added up from their steps when they end (docs/adr/0093). A step that runs others, as an iterator, a
 * retry or the call of a pipeline does, is not counted, because these are.
 */
import { statement } from '../../../kernel/database/database.ts';
import type { WorkEnd, WorkMoment } from '../../../kernel/work/work.ts';
import {
  boundName,
  boundSum,
  dayOf,
  insertIntoConsumptionEntry,
} from '../../../records/consumption/index.ts';

/** SQL: when a step ended. One that an end of the run interrupts did so at the latest when its agent fell silent. */
const endOfStep = 'least(coalesce(s.finished_at, x.silent_since, $now), $now::timestamptz)';
const pipelineOfStep = 'coalesce(caller.child_pipeline_name, x.pipeline_name)';
const typeOfPipeline = (name: string) =>
  `case when ${name} like '%.tran.yaml' then 'transformation' else 'orchestration' end`;

const recordUsage = statement(
  { parameters: { account_id: 'uuid', execution_ids: 'uuid[]', now: 'timestamptz' } },
  `
  with ended as (
    select e.execution_id, e.project_id, p.name as project_name, e.environment_name, e.pipeline_name, w.silent_since,
      case when e.trigger <> 'SCHEDULE' then e.user_name end as user_name
    from pipeline_execution e
    join project p on p.account_id = e.account_id and p.project_id = e.project_id
    join work w on w.account_id = e.account_id and w.work_id = e.execution_id
    where e.account_id = $account_id and e.execution_id = any ($execution_ids::uuid[])
      -- An agent has begun with it.
      and w.report_sequence > 0
  ), parents as materialized (
    select distinct (inner_step.restart ->> 'parent')::uuid as step_id from ended y
    join execution_step inner_step on inner_step.account_id = $account_id and inner_step.execution_id = y.execution_id
    where inner_step.restart ? 'parent'
  ), used as (
    select x.execution_id, ${dayOf('$now')} as day, x.pipeline_name, ${typeOfPipeline('x.pipeline_name')} as kind,
      1 as runs, 0::double precision as milliseconds, 0::bigint as row_count, 0::bigint as byte_count
    from ended x
    union all
    select x.execution_id, ${dayOf(endOfStep)}, s.child_pipeline_name, ${typeOfPipeline('s.child_pipeline_name')}, 1, 0, 0, 0
    from ended x
    join execution_step s on s.account_id = $account_id and s.execution_id = x.execution_id
    where s.child_pipeline_id is not null
    union all
    select x.execution_id, ${dayOf(endOfStep)}, ${pipelineOfStep},
      case when s.component_type ~ '^(python|bash)-' then 'script' else ${typeOfPipeline(pipelineOfStep)} end, 0,
      greatest(0, extract(epoch from ${endOfStep} - s.started_at) * 1000), coalesce(s.row_count, 0), coalesce(s.byte_count, 0)
    from ended x
    join execution_step s on s.account_id = $account_id and s.execution_id = x.execution_id
    left join execution_step caller on s.pipeline_run_id <> x.execution_id and caller.account_id = $account_id
      and caller.execution_id = x.execution_id and caller.child_pipeline_id = s.pipeline_run_id
    where s.child_pipeline_id is null and s.status <> 'SKIPPED' and not exists (
      select from parents p where p.step_id = s.step_id)
  )
  ${insertIntoConsumptionEntry}
  select $account_id, u.day, x.project_id, x.project_name, x.environment_name, ${boundName('u.pipeline_name')}, u.kind, sum(u.runs),
    ${boundSum('round(sum(u.milliseconds))')}, ${boundSum('sum(u.row_count)')}, ${boundSum('sum(u.byte_count)')}, 0, 0, ${boundName('x.user_name')}
  from used u join ended x on x.execution_id = u.execution_id
  group by x.execution_id, x.project_id, x.project_name, x.environment_name, x.user_name, u.day, u.pipeline_name, u.kind`,
);

export function recordRunUsage({ tx, accountId, now }: WorkMoment, ends: readonly WorkEnd[]): void {
  tx.send(recordUsage, { account_id: accountId, execution_ids: ends.map((end) => end.workId), now });
}
