/** Runs that take too long, or that no agent starts: what comes true with time, among the runs that have not ended. */
import { alertRuleLimit } from '@headgate/contract';
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { type Cause, causeRow, isAboutPipeline, ruleColumns, sameRuns, usualSeconds } from './cause.ts';

const isUnended = "x.status in ('RUNNING', 'CANCELLING', 'UNKNOWN')";
const isOfTime = "r.enabled and r.condition_type in ('LONGER_THAN', 'LONGER_THAN_USUAL', 'NOT_STARTED')";

/** The place of a run in the order of this search. */
export interface RunPlace {
  projectId: string;
  executionId: string;
}

const selectRuns = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', execution_id: 'uuid', most: 'integer' },
    row: { project_id: 'uuid', execution_id: 'uuid' },
  },
  `
  select x.project_id, x.execution_id from pipeline_execution x
  where x.account_id = $account_id and ${isUnended} and (x.project_id, x.execution_id) > ($project_id, $execution_id)
  order by x.project_id, x.execution_id limit $most::integer`,
);

const scheduleColumns = 's.problem_code, s.problem_detail, s.problem_since, s.name as schedule_name';
/** More than the rules of a project, so that all causes of the first run are among them. */
const causesOfPart = 2 * alertRuleLimit;
// The medians are computed once for each pipeline, not for each pair of rule and run.
export const selectUnendedCauses = statement(
  {
    parameters: { account_id: 'uuid', execution_ids: 'uuid[]', now: 'timestamptz' },
    row: causeRow,
    alone: true,
  },
  `
  with unended as materialized (
    select x.project_id, x.environment_name, x.pipeline_name, x.schedule_id, x.execution_id, x.status, x.message,
      x.started_at, x.schedule_tick, extract(epoch from $now::timestamptz - x.started_at)::double precision as seconds
    from pipeline_execution x
    where x.account_id = $account_id and x.execution_id = any ($execution_ids::uuid[]) and ${isUnended}
  ), usual as materialized (
    select x.project_id, x.environment_name, x.pipeline_name, ${usualSeconds(sameRuns('SUCCESS'))} as usual_seconds
    from (select distinct project_id, environment_name, pipeline_name from unended) x
    where exists (
      select from alert_rule r
      where r.account_id = $account_id and r.project_id = x.project_id and ${isOfTime} and r.condition_type = 'LONGER_THAN_USUAL')
  ), known as materialized (
    select x.project_id, x.environment_name, x.pipeline_name, x.schedule_id, x.execution_id, x.status, x.message,
      x.started_at, x.schedule_tick, x.seconds, usual.usual_seconds
    from unended x
    left join usual on usual.project_id = x.project_id and usual.environment_name = x.environment_name
      and usual.pipeline_name = x.pipeline_name
  )
  select ${ruleColumns}, x.environment_name, x.pipeline_name, x.schedule_id, x.execution_id, x.status, x.message, x.seconds,
    x.usual_seconds, false as followed_failure, x.schedule_tick, ${scheduleColumns}
  from known x
  join alert_rule r on r.account_id = $account_id and r.project_id = x.project_id and ${isOfTime}
    and case r.condition_type
      when 'NOT_STARTED' then
        x.status = 'RUNNING' and x.schedule_tick <= $now::timestamptz - make_interval(mins => r.minutes) and exists (
          select from work w where w.account_id = r.account_id and w.work_id = x.execution_id and w.state = 'queued')
      when 'LONGER_THAN_USUAL' then x.seconds > 60 and x.seconds > r.factor * x.usual_seconds
      else x.seconds > r.minutes * 60 end
    and (r.environment_name is null or r.environment_name = x.environment_name)
    and (r.schedule_id is null or r.schedule_id = x.schedule_id)
    and ${isAboutPipeline('x.pipeline_name')}
  left join schedule s on s.account_id = r.account_id and s.schedule_id = x.schedule_id
  where not exists (
    select from alert a
    where a.account_id = r.account_id and a.alert_rule_id = r.alert_rule_id and a.cause = x.execution_id::text)
  order by x.project_id, x.execution_id
  limit ${causesOfPart}`,
);

export interface UnendedCauses {
  causes: Cause[];
  /** Where the search goes on; undefined at its end. */
  next: RunPlace | undefined;
}

const nil = '00000000-0000-0000-0000-000000000000';

/** Searches the next runs of an account, `most` at most. */
export async function findUnendedCauses(
  tx: Transaction,
  accountId: string,
  { after, most, now }: { after: RunPlace | undefined; most: number; now: Date },
): Promise<UnendedCauses> {
  const runs = await tx.query(selectRuns, {
    account_id: accountId,
    project_id: after?.projectId ?? nil,
    execution_id: after?.executionId ?? nil,
    most,
  });
  const last = runs.at(-1);
  if (last === undefined) return { causes: [], next: undefined };
  const execution_ids = runs.map((run) => run.execution_id);
  const causes = await tx.query(selectUnendedCauses, { account_id: accountId, execution_ids, now });
  if (causes.length === causesOfPart) return takeWholeRuns(causes, runs);
  const isLast = runs.length < most;
  return { causes, next: isLast ? undefined : toPlace(last) };
}

interface RunRow {
  project_id: string;
  execution_id: string;
}

const toPlace = ({ project_id, execution_id }: RunRow): RunPlace => ({
  projectId: project_id,
  executionId: execution_id,
});

/** The causes of the last run may be incomplete: the search goes on with it. */
function takeWholeRuns(causes: readonly Cause[], runs: readonly RunRow[]): UnendedCauses {
  const lastId = causes.at(-1)?.execution_id;
  const whole = causes.filter((cause) => cause.execution_id !== lastId);
  const before = runs[runs.findIndex((run) => run.execution_id === lastId) - 1];
  if (whole.length === 0 || before === undefined)
    return { causes: [...causes], next: toPlace(runs[0] as RunRow) };
  return { causes: whole, next: toPlace(before) };
}

// One lookup each, as for the accounts that are behind.
const listWatched = statement(
  { parameters: { after: 'uuid', most: 'integer' }, row: { account_id: 'uuid' }, alone: true },
  `
  select p.account_id from alert_position p
  cross join lateral (
    select true from alert_rule r where r.account_id = p.account_id and ${isOfTime} order by r.project_id limit 1) ruled (yes)
  cross join lateral (
    select true from pipeline_execution x where x.account_id = p.account_id and ${isUnended} order by x.project_id limit 1) running (yes)
  where p.account_id > $after
  order by p.account_id limit $most::integer`,
);

/** Lists accounts with rules about time and runs that have not ended, in the order of their ids. */
export const listWatchedAccounts = async (read: Read, after: string, most: number): Promise<string[]> =>
  (await read(listWatched, { after, most })).map((row) => row.account_id);
