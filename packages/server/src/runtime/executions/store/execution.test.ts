/** The states of an execution: the table, and the moves in the database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ExecutionStatus, executionStatuses } from '@headgate/contract';
import { startTestServer } from '../../../../testing/server.ts';
import { moveExecutions } from './execution.store.ts';
import { executionStates } from './execution.ts';

const ends: ExecutionStatus[] = ['SUCCESS', 'FAILED', 'CANCELLED', 'FORBIDDEN', 'SKIPPED'];

test('the table has every status, and final states have no moves', () => {
  assert.deepEqual(executionStates.states.toSorted(), executionStatuses.toSorted());
  for (const state of executionStatuses)
    assert.equal(executionStates.isEnd(state), ends.includes(state), state);
});

test('an execution moves between two states exactly if the table allows it', async () => {
  const server = await startTestServer();
  const account = await server.account();
  const { projectId } = await account.project();
  const { database, newId } = server.deps;
  for (const from of executionStatuses) {
    for (const to of executionStatuses) {
      const id = newId();
      const finishedAt = executionStates.isEnd(from) ? '2026-01-01T00:00:00Z' : null;
      await server.database.query(
        `insert into pipeline_execution (account_id, execution_id, project_id, environment_name, pipeline_name, pipeline_type, version_name,
           manifest_digest, agent_id, status, trigger, scalar_variables, grid_variables, started_at, finished_at)
         values ($1, $2, $3, 'dev', 'main', 'ORCHESTRATION', 'v1', '', $2, $4, 'API', '{}', '{}', now(), $5)`,
        [account.accountId, id, projectId, from, finishedAt],
      );
      await database.transaction((tx) =>
        moveExecutions(tx, account.accountId, { to, executions: [{ id }] }, server.clock.now()),
      );
      const [row] = await server.database.query<{ status: string; ended: boolean }>(
        'select status, finished_at is not null as ended from pipeline_execution where execution_id = $1',
        [id],
      );
      const allowed = executionStates.allows(from, to);
      const what = `${from} → ${to}`;
      assert.equal(row?.status, allowed ? to : from, what);
      assert.equal(row?.ended, executionStates.isEnd(allowed ? to : from), what);
    }
  }
});
