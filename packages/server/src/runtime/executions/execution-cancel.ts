/** Cancelling executions: one, or those of a backfill. */
import type { ExecutionStatus, WorkCommand } from '@headgate/contract';
import { statement, type Transaction, typed } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { describeCancellation, endWork, sendCommand, type WorkTimes } from '../../kernel/work/work.ts';
import { recordEndedExecutions } from '../../records/lineage/index.ts';
import { getLogKey } from './log-stream.ts';
import { moveExecutions } from './store/execution.store.ts';

/** An execution whose work has the command. */
interface CommandedRun {
  id: string;
  projectId: string;
  environmentName: string;
  pipelineName: string;
  status: ExecutionStatus;
  work: { state: 'queued' | 'held' | 'silent'; agent_id: string; command_by: string | null };
}

/** What a command to cancel means for its executions. Returns their events. */
export function recordCancellations(
  tx: Transaction,
  { accountId }: Scope,
  runs: readonly CommandedRun[],
  { command, now, wakes }: { command: WorkCommand; now: Date; wakes: Wakes },
): AccountEvent[] {
  const moves = runs.map((run) => {
    // No agent holds queued work, so the cancellation takes effect at once.
    const isEnded = run.work.state === 'queued';
    const status = isEnded ? 'CANCELLED' : run.status === 'RUNNING' ? 'CANCELLING' : run.status;
    const message = isEnded
      ? `${describeCancellation(run.work.command_by ?? undefined)} before an agent claimed it.`
      : undefined;
    return { ...run, isEnded, message, to: status as ExecutionStatus };
  });
  const ends = moves.filter(({ isEnded }) => isEnded);
  endWork(
    tx,
    accountId,
    ends.map(({ id }) => id),
    now,
  );
  const moved = moves.filter(({ status, to }) => status !== to);
  for (const [to, executions] of Map.groupBy(moved, (move) => move.to))
    moveExecutions(tx, accountId, { to, executions }, now);
  recordEndedExecutions(
    tx,
    accountId,
    ends.map(({ id }) => id),
    now,
  );
  tx.afterCommit(() => {
    for (const { id } of ends) wakes.wake(getLogKey(id), 'all');
    const agents = moves.filter(({ isEnded }) => !isEnded).map(({ work }) => work.agent_id);
    for (const agentId of new Set(agents)) wakes.wake(agentId, 'all');
  });
  return moves.flatMap(({ id, projectId, environmentName, pipelineName, status, to, isEnded }) => {
    const change = {
      projectId,
      environmentName,
      subject: { type: 'pipeline-execution', id, name: pipelineName },
      before: { status },
      after: { status: to, command },
    };
    const requested: AccountEvent = { name: 'pipeline-execution-cancel-requested', ...change };
    return isEnded ? [requested, { name: 'pipeline-execution-ended', ...change }] : [requested];
  });
}

const selectUnended = statement(
  { parameters: { account_id: 'uuid', backfill_id: 'uuid' }, row: { execution_id: 'uuid' } },
  `
  select execution_id from pipeline_execution
  where account_id = $account_id and backfill_id = $backfill_id and status in ('RUNNING', 'CANCELLING', 'UNKNOWN')`,
);

const selectStates = statement(
  {
    parameters: { account_id: 'uuid', execution_ids: 'uuid[]' },
    row: {
      execution_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      pipeline_name: 'text',
      status: typed<ExecutionStatus>('execution_status'),
    },
  },
  `
  select execution_id, project_id, environment_name, pipeline_name, status from pipeline_execution
  where account_id = $account_id and execution_id = any ($execution_ids::uuid[])`,
);

/** Cancels the runs of a backfill. The caller has locked it, so that no further run starts. */
export async function cancelRunsOfBackfill(
  tx: Transaction,
  scope: Scope,
  backfillId: string,
  request: { command: WorkCommand; now: Date; wakes: Wakes; times: WorkTimes },
): Promise<AccountEvent[]> {
  const unended = await tx.query(selectUnended, { account_id: scope.accountId, backfill_id: backfillId });
  if (unended.length === 0) return [];
  const ids = unended.map((row) => row.execution_id);
  const works = await sendCommand(tx, scope, ids, request.command, request.now, request.times);
  const byId = new Map(works.map((work) => [work.work_id, work]));
  // Read only now that the work is locked: nothing else changes their status until the end of the transaction.
  const states = await tx.query(selectStates, {
    account_id: scope.accountId,
    execution_ids: [...byId.keys()],
  });
  const runs = states.flatMap((row): CommandedRun[] => {
    const work = byId.get(row.execution_id);
    const { execution_id: id, project_id: projectId, environment_name: environmentName } = row;
    const { pipeline_name: pipelineName, status } = row;
    return work === undefined ? [] : [{ id, projectId, environmentName, pipelineName, status, work }];
  });
  return recordCancellations(tx, scope, runs, request);
}
