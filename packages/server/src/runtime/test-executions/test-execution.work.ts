/** Test executions as work: the payload for the agent, and what start, results, silence and end mean. */
import { statement } from '../../kernel/database/database.ts';
import type { WorkEnd, WorkMoment, WorkOwner, WorkServices } from '../../kernel/work/work.ts';
import { describeEnd, recordWorkEvents } from '../../kernel/work/work-records.ts';
import { boundName, dayOf, insertIntoConsumptionEntry } from '../../records/consumption/index.ts';
import { listRunMembers, selectVariablesOfPlaces } from '../executions/index.ts';
import { closeTestResults, moveTestExecutions, writeTestResults } from './test-execution.store.ts';

/** A TestExecutionWork. */
const selectPayload = (runLimitSeconds: number) => `
  select json_build_object('testExecutionId', e.test_execution_id,
    ${listRunMembers('variables_of_tested_place', runLimitSeconds)},
    'tests', (
      select json_agg(json_build_object('testName', r.test_name) order by r.ordinal) from test_execution_result r
      where r.account_id = e.account_id and r.test_execution_id = e.test_execution_id))
  from test_execution e where e.account_id = claimed.account_id and e.test_execution_id = claimed.work_id`;

export function createTestExecutionOwner({ times, metrics }: WorkServices): WorkOwner {
  return {
    claimed: {
      with: [selectVariablesOfPlaces('variables_of_tested_place', 'test-execution')],
      payload: selectPayload(times.runLimitSeconds),
    },
    onStarted(moment, works) {
      recordWorkEvents(moment, 'test-execution-started', 'test-execution', works);
    },
    onTested({ tx, accountId }, workId, results) {
      writeTestResults(tx, accountId, workId, results);
    },
    onSilent(moment, ids) {
      const executions = ids.map((id) => ({ id }));
      moveTestExecutions(moment, { to: 'UNKNOWN', executions }, 'test-execution-silent');
    },
    onCameBack: moveBack,
    onRequeued(moment, works) {
      moveBack(
        moment,
        works.map((work) => work.work_id),
      );
      recordWorkEvents(moment, 'test-execution-reclaimed', 'test-execution', works);
    },
    onEnded(moment, ends) {
      // Before the results of tests that have not run are closed.
      recordTestUsage(moment, ends);
      for (const [status, alike] of Map.groupBy(ends, (end) => end.status)) {
        const executions = alike.map((end) => ({ id: end.workId, message: describeEnd(end) }));
        const ids = executions.map(({ id }) => id);
        moveTestExecutions(moment, { to: status, executions }, 'test-execution-ended');
        closeTestResults(moment.tx, moment.accountId, ids, status === 'CANCELLED' ? 'CANCELLED' : 'ERRORED');
        moment.tx.afterCommit(() => {
          for (const _ of ids) metrics.countEndedWork('test-execution', status);
        });
      }
    },
  };
}

const recordUsage = statement(
  { parameters: { account_id: 'uuid', ids: 'uuid[]', now: 'timestamptz' } },
  `${insertIntoConsumptionEntry}
  select $account_id, ${dayOf('$now')}, e.project_id, p.name, e.environment_name, ${boundName('r.pipeline_name')}, 'test', count(*),
    coalesce(sum(r.duration_ms), 0), 0, 0, 0, 0, ${boundName('e.user_name')}
  from test_execution e
  join project p on p.account_id = e.account_id and p.project_id = e.project_id
  join test_execution_result r on r.account_id = e.account_id and r.test_execution_id = e.test_execution_id
    and r.status is not null
  where e.account_id = $account_id and e.test_execution_id = any ($ids::uuid[])
  group by e.test_execution_id, e.project_id, p.name, e.environment_name, r.pipeline_name, e.user_name`,
);

function recordTestUsage({ tx, accountId, now }: WorkMoment, ends: readonly WorkEnd[]): void {
  tx.send(recordUsage, { account_id: accountId, ids: ends.map((end) => end.workId), now });
}

// An execution that was being cancelled returns to CANCELLING.
const wakeUp = statement(
  { parameters: { account_id: 'uuid', ids: 'uuid[]' } },
  `
  update test_execution e set status = case when w.command is null then 'RUNNING' else 'CANCELLING' end::execution_status
  from work w
  where e.account_id = $account_id and e.test_execution_id = any ($ids::uuid[]) and e.status = 'UNKNOWN'
    and w.account_id = e.account_id and w.work_id = e.test_execution_id`,
);

function moveBack({ tx, accountId }: WorkMoment, ids: readonly string[]): void {
  tx.send(wakeUp, { account_id: accountId, ids });
}
