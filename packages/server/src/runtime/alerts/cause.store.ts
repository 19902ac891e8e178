/** What may raise alerts: events of the log, and runs that have not ended. Each is read with the rules that it concerns. */
import { type AlertConditionType, alertRuleLimit, type ExecutionStatus } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';

const causeRow = {
  account_id: 'uuid',
  alert_rule_id: 'uuid',
  project_id: 'uuid',
  name: 'text',
  condition_type: typed<AlertConditionType>('text'),
  minutes: 'integer?',
  factor: 'double precision?',
  webhook_ids: typed<readonly string[]>('uuid[]'),
  emails: typed<readonly string[]>('text[]'),
  environment_name: 'text',
  pipeline_name: 'text',
  schedule_id: 'uuid?',
  /** Null for a schedule that started no run. */
  execution_id: 'uuid?',
  status: typed<ExecutionStatus | null>('execution_status'),
  message: 'text?',
  seconds: 'double precision?',
  /** The median of its last successful runs; null if there are too few. */
  usual_seconds: 'double precision?',
  /** The last run before it that succeeded or failed did fail. */
  followed_failure: 'boolean',
  schedule_tick: 'timestamptz?',
  /** The present problem of its schedule. */
  problem_code: 'text?',
  problem_detail: 'text?',
  problem_since: 'timestamptz?',
  schedule_name: 'text?',
} satisfies ColumnTypes;
/** A rule and what may raise an alert of it. */
export type Cause = RowOf<typeof causeRow>;

const usualRuns = 20;
const fewestUsualRuns = 3;

const ruleColumns = `r.account_id, r.alert_rule_id, r.project_id, r.name, r.condition_type, r.minutes, r.factor,
    r.webhook_ids, r.emails`;
/** SQL condition: the rule `r` is about the pipeline. Either name may lack its extension. */
const isAboutPipeline = (name: string) => `
    (r.pipeline_name is null or r.pipeline_name = ${name}
      or ${name} in (r.pipeline_name || '.orch.yaml', r.pipeline_name || '.tran.yaml')
      or r.pipeline_name in (${name} || '.orch.yaml', ${name} || '.tran.yaml'))`;
const sameRuns = (status: ExecutionStatus) => `
      select p.execution_id, p.started_at, p.finished_at from pipeline_execution p
      where p.account_id = x.account_id and p.project_id = x.project_id and p.environment_name = x.environment_name
        and p.pipeline_name = x.pipeline_name and p.status = '${status}' and p.execution_id < x.execution_id
      order by p.execution_id desc`;
/** SQL of the columns about the run `x` and the schedule `s`, which may be missing. `now`: the end of a run that has not ended. */
const problemOfSchedule = 's.problem_code, s.problem_detail, s.problem_since';
// As the tick was missed: the schedule may have recovered since.
const problemOfEvent = ['code', 'detail', 'since']
  .map((member) => {
    const type = member === 'since' ? 'timestamptz' : 'text';
    return `case when e.name = 'schedule-tick-missed' then (e.state_after ->> '${member}')::${type} else s.problem_${member} end as problem_${member}`;
  })
  .join(', ');
const factColumns = (now: string, problem: string) => `x.execution_id, x.status, x.message,
    extract(epoch from coalesce(x.finished_at, ${now}) - x.started_at)::double precision as seconds,
    case when r.condition_type = 'LONGER_THAN_USUAL' then (
      select case when count(*) >= ${fewestUsualRuns} then
        percentile_cont(0.5) within group (order by extract(epoch from u.finished_at - u.started_at)) end
      from (${sameRuns('SUCCESS')} limit ${usualRuns}) u)::double precision end as usual_seconds,
    case when r.condition_type = 'RECOVERED' then (
      select coalesce(failed.execution_id > succeeded.execution_id, failed.execution_id is not null)
      from (select) one
      left join lateral (${sameRuns('FAILED')} limit 1) failed on true
      left join lateral (${sameRuns('SUCCESS')} limit 1) succeeded on true) is true else false end as followed_failure,
    x.schedule_tick, ${problem}, s.name as schedule_name`;

const lockPosition = statement(
  { parameters: { account_id: 'uuid' }, row: { position: 'bigint' } },
  'select position from alert_position where account_id = $account_id for update skip locked',
);
const scannedEvents = 1_000;
const selectEnd = statement(
  {
    parameters: { account_id: 'uuid', after: 'bigint' },
    row: { through: 'bigint?', scanned: 'bigint' },
  },
  `
  select max(position) as through, count(*) as scanned from (
    select e.position from event e where e.account_id = $account_id and e.position > $after
    order by e.position limit ${scannedEvents}) scanned`,
);

/** More than the rules of a project, so that all causes of the first event are among them. */
const causesOfPart = 2 * alertRuleLimit;
const selectEventCauses = statement(
  {
    parameters: { account_id: 'uuid', after: 'bigint', through: 'bigint', now: 'timestamptz' },
    row: { ...causeRow, position: 'bigint' },
    alone: true,
  },
  `
  select e.position, ${ruleColumns}, e.environment_name, coalesce(x.pipeline_name, s.pipeline_name) as pipeline_name,
    coalesce(x.schedule_id, s.schedule_id) as schedule_id, ${factColumns('$now::timestamptz', problemOfEvent)}
  from event e
  join alert_rule r on r.account_id = e.account_id and r.project_id = e.project_id and r.enabled and e.occurred_at >= r.active_since
    and (r.environment_name is null or r.environment_name = e.environment_name)
  left join pipeline_execution x on e.name = 'pipeline-execution-ended' and x.account_id = e.account_id
    and x.execution_id = case when e.subject_type = 'pipeline-execution' then e.subject_id::uuid end
  left join schedule s on s.account_id = e.account_id
    and s.schedule_id = case when e.subject_type = 'schedule' then e.subject_id::uuid else x.schedule_id end
  where e.account_id = $account_id and e.position > $after and e.position <= $through
    and e.name in ('pipeline-execution-ended', 'schedule-tick-missed') and (x.execution_id is not null or s.schedule_id is not null)
    and (r.schedule_id is null or r.schedule_id = coalesce(x.schedule_id, s.schedule_id))
    and ${isAboutPipeline('coalesce(x.pipeline_name, s.pipeline_name)')}
  order by e.position
  limit ${causesOfPart}`,
);

const movePosition = statement(
  { parameters: { account_id: 'uuid', position: 'bigint' } },
  'update alert_position set position = $position where account_id = $account_id',
);

export interface EventCauses {
  causes: Cause[];
  hasMore: boolean;
}

/** Takes the next events of the log from an account's rules. Undefined if another server takes them at this moment. */
export async function takeEventCauses(
  tx: Transaction,
  accountId: string,
  now: Date,
): Promise<EventCauses | undefined> {
  const account = { account_id: accountId };
  const [at] = await tx.query(lockPosition, account);
  if (at === undefined) return undefined;
  const [end] = await tx.query(selectEnd, { ...account, after: at.position });
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
    hasMore: isFull || end?.scanned === scannedEvents,
  };
}

// One lookup each: the order and the limit keep the planner from scanning all rules.
const listBehind = statement(
  { row: { account_id: 'uuid' }, alone: true },
  `
  select p.account_id from alert_position p left join event_position l on l.account_id = p.account_id
  cross join lateral (
    select true from alert_rule r where r.account_id = p.account_id and r.enabled order by r.alert_rule_id limit 1) ruled (yes)
  where (p.position < l.last_position or exists (
      select from event e
      where e.account_id = p.account_id and e.position is null and e.sequence > coalesce(l.settled_sequence, 0)))
  order by p.account_id limit 1000`,
);

/** Lists the accounts with rules and events that these have not read. */
export const listAccountsBehind = async (read: Read): Promise<string[]> =>
  (await read(listBehind, {})).map((row) => row.account_id);

// Each of them must be judged true: one that is not would take a place at each round, of all accounts.
const causesOfRound = 500;
const selectUnendedCauses = statement(
  { parameters: { now: 'timestamptz' }, row: causeRow, alone: true },
  `
  select judged.* from (
    select ${ruleColumns}, x.environment_name, x.pipeline_name, x.schedule_id, ${factColumns('$now::timestamptz', problemOfSchedule)}
    from alert_rule r
    join pipeline_execution x on x.account_id = r.account_id and x.project_id = r.project_id
      and x.status in ('RUNNING', 'CANCELLING', 'UNKNOWN')
    left join schedule s on s.account_id = x.account_id and s.schedule_id = x.schedule_id
    where r.enabled and r.condition_type in ('LONGER_THAN', 'LONGER_THAN_USUAL', 'NOT_STARTED')
      and (r.environment_name is null or r.environment_name = x.environment_name)
      and (r.schedule_id is null or r.schedule_id = x.schedule_id)
      and ${isAboutPipeline('x.pipeline_name')}
      and case when r.condition_type = 'NOT_STARTED' then
          x.status = 'RUNNING' and x.schedule_tick <= $now::timestamptz - make_interval(mins => r.minutes) and exists (
            select from work w where w.account_id = x.account_id and w.work_id = x.execution_id and w.state = 'queued')
        else x.started_at <= $now::timestamptz - make_interval(mins => coalesce(r.minutes, 1)) end
      and not exists (
        select from alert a
        where a.account_id = r.account_id and a.alert_rule_id = r.alert_rule_id and a.cause = x.execution_id::text)
  ) judged
  where judged.condition_type <> 'LONGER_THAN_USUAL' or judged.seconds > judged.factor * judged.usual_seconds
  limit ${causesOfRound}`,
);

/** Runs that have taken too long, or that no agent has started, of all accounts. */
export const listUnendedCauses = (read: Read, now: Date): Promise<Cause[]> =>
  read(selectUnendedCauses, { now });
