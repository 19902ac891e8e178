/** Events of the log that may raise alerts: ends of runs, ticks that started no run, and limits of budgets. */
import { alertRuleLimit } from '@headgate/contract';
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { type Cause, causeRow, isAboutPipeline, ruleColumns, sameRuns, usualSeconds } from './cause.ts';

const lockPosition = statement(
  { parameters: { account_id: 'uuid' }, row: { position: 'bigint' } },
  'select position from alert_position where account_id = $account_id for update skip locked',
);
const selectEnd = statement(
  {
    parameters: { account_id: 'uuid', after: 'bigint', scanned: 'integer' },
    row: { through: 'bigint?', scanned: 'bigint' },
  },
  `
  select max(position) as through, count(*) as scanned from (
    select e.position from event e where e.account_id = $account_id and e.position > $after
    order by e.position limit $scanned::integer) scanned`,
);

const budgetEvents = "'budget-warned', 'budget-limit-reached'";

// As the tick was missed: the schedule may have recovered since.
const problemOfEvent = ['code', 'detail', 'since']
  .map((member) => {
    const type = member === 'since' ? 'timestamptz' : 'text';
    return `case when e.name in ('schedule-tick-missed', ${budgetEvents}) then (e.state_after ->> '${member}')::${type}
      else s.problem_${member} end as problem_${member}`;
  })
  .join(', ');

/** More than the rules of a project, so that all causes of the first event are among them. */
const causesOfPart = 2 * alertRuleLimit;
// Each run is compared with those before it once, not once for each rule.
const selectEventCauses = statement(
  {
    parameters: { account_id: 'uuid', after: 'bigint', through: 'bigint', now: 'timestamptz' },
    row: { ...causeRow, position: 'bigint' },
    alone: true,
  },
  `
  with paired as materialized (
    select e.position, ${ruleColumns}, e.environment_name, coalesce(x.pipeline_name, s.pipeline_name) as pipeline_name,
      coalesce(x.schedule_id, s.schedule_id) as schedule_id, x.execution_id, x.status, x.message,
      extract(epoch from coalesce(x.finished_at, $now::timestamptz) - x.started_at)::double precision as seconds,
      x.schedule_tick, ${problemOfEvent}, s.name as schedule_name
    from event e
    join alert_rule r on r.account_id = e.account_id and r.project_id = e.project_id and r.enabled and e.occurred_at >= r.active_since
      and (r.environment_name is null or r.environment_name = e.environment_name)
    left join pipeline_execution x on e.name = 'pipeline-execution-ended' and x.account_id = e.account_id
      and x.execution_id = case when e.subject_type = 'pipeline-execution' then e.subject_id::uuid end
    left join schedule s on s.account_id = e.account_id
      and s.schedule_id = case when e.subject_type = 'schedule' then e.subject_id::uuid else x.schedule_id end
    where e.account_id = $account_id and e.position > $after and e.position <= $through
      and e.name in ('pipeline-execution-ended', 'schedule-tick-missed', ${budgetEvents})
      and (x.execution_id is not null or s.schedule_id is not null or e.name in (${budgetEvents}) and r.condition_type = 'BUDGET')
      and (r.schedule_id is null or r.schedule_id = coalesce(x.schedule_id, s.schedule_id))
      and ${isAboutPipeline('coalesce(x.pipeline_name, s.pipeline_name)')}
    order by e.position
    limit ${causesOfPart}
  ), compared as materialized (
    select x.execution_id,
      case when x.is_timed then ${usualSeconds(`${sameRuns('SUCCESS')} and p.execution_id < x.execution_id`)} end as usual_seconds,
      case when x.is_recovery then (
        select coalesce(failed.execution_id > succeeded.execution_id, failed.execution_id is not null)
        from (select) one
        left join lateral (
          ${sameRuns('FAILED')} and p.execution_id < x.execution_id order by p.execution_id desc limit 1) failed on true
        left join lateral (
          ${sameRuns('SUCCESS')} and p.execution_id < x.execution_id order by p.execution_id desc limit 1) succeeded on true
      ) end as followed_failure
    from (
      select execution_id, project_id, environment_name, pipeline_name,
        bool_or(condition_type = 'LONGER_THAN_USUAL' and seconds > 60) as is_timed,
        bool_or(condition_type = 'RECOVERED' and status = 'SUCCESS') as is_recovery
      from paired where execution_id is not null
      group by execution_id, project_id, environment_name, pipeline_name) x
  )
  select paired.position, ${Object.keys(causeRow)
    .map((name) => {
      if (name === 'usual_seconds') return 'compared.usual_seconds';
      return name === 'followed_failure'
        ? 'compared.followed_failure is true as followed_failure'
        : `paired.${name}`;
    })
    .join(', ')}
  from paired left join compared on compared.execution_id = paired.execution_id
  order by paired.position`,
);

const movePosition = statement(
  { parameters: { account_id: 'uuid', position: 'bigint' } },
  'update alert_position set position = $position where account_id = $account_id',
);

export interface EventCauses {
  causes: Cause[];
  hasMore: boolean;
}

/**
 * Takes the next events of the log from an account's rules, `most` at most. Undefined if another server takes
 * them at this moment.
 */
export async function takeEventCauses(
  tx: Transaction,
  accountId: string,
  { most, now }: { most: number; now: Date },
): Promise<EventCauses | undefined> {
  const account = { account_id: accountId };
  const [at] = await tx.query(lockPosition, account);
  if (at === undefined) return undefined;
  const [end] = await tx.query(selectEnd, { ...account, after: at.position, scanned: most });
  const through = end?.through ?? null;
  if (through === null) return { causes: [], hasMore: false };
  const causes = await tx.query(selectEventCauses, { ...account, after: at.position, through, now });
  const isFull = causes.length === causesOfPart;
  // The causes of the last event may be incomplete: the next part begins with it.
  const [first, last] = [causes.at(0)?.position ?? 0, causes.at(-1)?.position ?? 0];
  const position = isFull ? Math.max(first, last - 1) : through;
  tx.send(movePosition, { ...account, position });
  return {
    causes: causes.filter((cause) => cause.position <= position),
    hasMore: isFull || end?.scanned === most,
  };
}

// One lookup each: the order and the limit keep the planner from scanning all rules.
const listBehind = statement(
  { parameters: { after: 'uuid', most: 'integer' }, row: { account_id: 'uuid' }, alone: true },
  `
  select p.account_id from alert_position p left join event_position l on l.account_id = p.account_id
  cross join lateral (
    select true from alert_rule r where r.account_id = p.account_id and r.enabled order by r.alert_rule_id limit 1) ruled (yes)
  where p.account_id > $after
    and (p.position < l.last_position or exists (
      select from event e
      where e.account_id = p.account_id and e.position is null and e.sequence > coalesce(l.settled_sequence, 0)))
  order by p.account_id limit $most::integer`,
);

/** Lists accounts with rules and events that these have not read, in the order of their ids. */
export const listAccountsBehind = async (read: Read, after: string, most: number): Promise<string[]> =>
  (await read(listBehind, { after, most })).map((row) => row.account_id);
