/**
 * Pipeline executions as work: the payload for the agent, and what start, silence and end mean for the
 * execution.
 */
import { statement } from '../../kernel/database/database.ts';
import {
  describeCancellation,
  type WorkEnd,
  type WorkMoment,
  type WorkOwner,
  type WorkServices,
} from '../../kernel/work/work.ts';
import { describeEnd, recordWorkEvents } from '../../kernel/work/work-records.ts';
import { recordEndedExecutions, recordStartedExecutions } from '../../records/lineage/index.ts';
import { getLogKey } from './log-stream.ts';
import { selectVariablesOfPlaces } from './place-variables.ts';
import { listRunMembers } from './run-payload.ts';
import { moveExecutionsWithEvents } from './store/execution.store.ts';
import { recordRunUsage } from './store/execution-consumption.store.ts';
import { closeOpenSteps } from './store/execution-step.store.ts';

// A restart is of the same tick as the execution that it continues. A run that was started by hand has no tick.
const scheduleOfRun = `case when e.schedule_id is not null then json_build_object('id', e.schedule_id,
      'name', coalesce((select s.name from schedule s where s.account_id = e.account_id and s.schedule_id = e.schedule_id), ''),
      'tick', to_char(coalesce(e.schedule_tick, e.started_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end`;

/** A PipelineExecutionWork. */
const selectPayload = (runLimitSeconds: number) => {
  const members = `'pipelineExecutionId', e.execution_id, 'pipelineName', e.pipeline_name, 'pipelineType', e.pipeline_type,
    'scalarVariables', e.scalar_variables, 'gridVariables', e.grid_variables,
    ${listRunMembers('variables_of_place', runLimitSeconds)}, 'schedule', ${scheduleOfRun}`;
  // The members stand here once: PostgreSQL prepares each subquery of them for every claim, used or not.
  return `
  select case when e.restart is null then run.members else run.members || jsonb_build_object('restart', e.restart) end::json
  from pipeline_execution e cross join lateral (select jsonb_build_object(${members}) as members offset 0) run
  where e.account_id = claimed.account_id and e.execution_id = claimed.work_id`;
};

export function createExecutionOwner({ times, metrics, wakes }: WorkServices): WorkOwner {
  return {
    claimed: {
      with: [selectVariablesOfPlaces('variables_of_place', 'pipeline-execution')],
      payload: selectPayload(times.runLimitSeconds),
    },
    onStarted(moment, works) {
      recordWorkEvents(moment, 'pipeline-execution-started', 'pipeline-execution', works);
      const ids = works.map((work) => work.work_id);
      recordStartedExecutions(moment.tx, moment.accountId, ids, moment.now);
    },
    onSilent(moment, ids) {
      const executions = ids.map((id) => ({ id }));
      moveExecutionsWithEvents(moment, { to: 'UNKNOWN', executions }, 'pipeline-execution-silent');
    },
    onCameBack: moveBack,
    onRequeued(moment, works) {
      moveBack(
        moment,
        works.map((work) => work.work_id),
      );
      recordWorkEvents(moment, 'pipeline-execution-reclaimed', 'pipeline-execution', works);
    },
    onEnded(moment, ends) {
      // Before open steps are closed: one of a lost agent counts until its lease expired.
      recordRunUsage(moment, ends);
      for (const [status, alike] of Map.groupBy(ends, (end) => end.status)) {
        const executions = alike.map((end) => ({ id: end.workId, message: describeEnd(end) }));
        moveExecutionsWithEvents(moment, { to: status, executions }, 'pipeline-execution-ended');
        const ids = executions.map((each) => each.id);
        if (status === 'FAILED' || status === 'CANCELLED') closeStepsOf(moment, status, alike);
        const lost = alike.filter((end) => end.isLost).map((end) => end.workId);
        if (lost.length > 0) moment.tx.send(markLost, { account_id: moment.accountId, execution_ids: lost });
        moment.tx.afterCommit(() => {
          for (const id of ids) {
            metrics.countEndedWork('pipeline-execution', status);
            wakes.wake(getLogKey(id), 'all');
          }
        });
      }
      const ids = ends.map((end) => end.workId);
      recordEndedExecutions(moment.tx, moment.accountId, ids, moment.now);
    },
  };
}

/** Steps that still run say why they end: usually who cancelled the execution. */
function closeStepsOf(
  { tx, accountId, now }: WorkMoment,
  status: 'FAILED' | 'CANCELLED',
  ends: readonly WorkEnd[],
): void {
  for (const [requestedBy, alike] of Map.groupBy(ends, (end) => end.requestedBy)) {
    const ids = alike.map((end) => end.workId);
    const message =
      status === 'CANCELLED'
        ? `${describeCancellation(requestedBy)}; the step may have had effects.`
        : 'The execution ended before this step did.';
    closeOpenSteps(tx, accountId, ids, { status, message }, now);
  }
}

const markLost = statement(
  { parameters: { account_id: 'uuid', execution_ids: 'uuid[]' } },
  `
  update pipeline_execution set agent_lost = true
  where account_id = $account_id and execution_id = any ($execution_ids::uuid[])`,
);

// An execution that was being cancelled returns to CANCELLING.
const wakeUp = statement(
  { parameters: { account_id: 'uuid', execution_ids: 'uuid[]' } },
  `
  update pipeline_execution e set status = case when w.command is null then 'RUNNING' else 'CANCELLING' end::execution_status
  from work w
  where e.account_id = $account_id and e.execution_id = any ($execution_ids::uuid[]) and e.status = 'UNKNOWN'
    and w.account_id = e.account_id and w.work_id = e.execution_id`,
);

function moveBack({ tx, accountId }: WorkMoment, ids: readonly string[]): void {
  tx.send(wakeUp, { account_id: accountId, execution_ids: ids });
}
