/** Starts several executions with one statement for each table: the runs of schedules and of backfills. */
import type { PipelineExecution, SharedArtifact } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import { readTimeOfId } from '../../kernel/identifiers.ts';
import { enqueueWorks } from '../../kernel/work/work-batch.ts';

/** A run of any account. What it runs was read in the same transaction. */
export interface NewRun {
  accountId: string;
  executionId: string;
  projectId: string;
  environmentName: string;
  pipelineName: string;
  pipelineType: PipelineExecution['pipelineType'];
  versionName: string;
  manifestDigest: string;
  agentId: string;
  sharedArtifacts: readonly SharedArtifact[];
  scalarVariables: object;
  gridVariables: object;
  /** The name of the principal with whose rights it runs; null if that one was deleted. */
  userName: string | null;
  /** The principal that must still have permission to run pipelines there when the work is claimed. */
  requestedBy: string;
  /** One that does not run has its end at once, and no work. */
  status: 'RUNNING' | 'SKIPPED' | 'FORBIDDEN';
  message: string | null;
  trigger: PipelineExecution['trigger'];
  scheduleId: string;
  /** The logical time of the run. Null for one that somebody started by hand. */
  scheduleTick: Date | null;
  backfillId: string | null;
}

const insertAll = statement(
  { parameters: { runs: 'jsonb' } },
  `
  insert into pipeline_execution (account_id, execution_id, project_id, environment_name, pipeline_name, pipeline_type,
    version_name, manifest_digest, agent_id, status, trigger, scalar_variables, grid_variables, user_name, message,
    started_at, finished_at, shared_artifacts, schedule_id, schedule_tick, backfill_id)
  select r."accountId", r."executionId", r."projectId", r."environmentName", r."pipelineName", r."pipelineType",
    r."versionName", r."manifestDigest", r."agentId", r.status, r.trigger, r."scalarVariables", r."gridVariables", r."userName",
    r.message, r."startedAt", r."finishedAt", r."sharedArtifacts", r."scheduleId", r."scheduleTick", r."backfillId"
  from jsonb_to_recordset($runs) as r ("accountId" uuid, "executionId" uuid, "projectId" uuid, "environmentName" text,
    "pipelineName" text, "pipelineType" text, "versionName" text, "manifestDigest" text, "agentId" uuid,
    status execution_status, trigger text, "scalarVariables" jsonb, "gridVariables" jsonb, "userName" text, message text,
    "startedAt" timestamptz, "finishedAt" timestamptz, "sharedArtifacts" jsonb, "scheduleId" uuid,
    "scheduleTick" timestamptz, "backfillId" uuid)`,
);

/** Their ids must have been made for this transaction: they say when the runs started. */
export function insertRuns(tx: Transaction, runs: readonly NewRun[], now: Date, wakes: Wakes): void {
  if (runs.length === 0) return;
  const rows = runs.map((run) => {
    const startedAt = readTimeOfId(run.executionId);
    return {
      ...run,
      sharedArtifacts: run.sharedArtifacts.length === 0 ? null : run.sharedArtifacts,
      startedAt,
      finishedAt: run.status === 'RUNNING' ? null : startedAt,
    };
  });
  tx.send(insertAll, { runs: JSON.stringify(rows) });
  const started = runs.filter(({ status }) => status === 'RUNNING');
  const works = started.map((run) => ({
    accountId: run.accountId,
    workId: run.executionId,
    projectId: run.projectId,
    environmentName: run.environmentName,
    agentId: run.agentId,
    kind: 'pipeline-execution',
    name: run.pipelineName,
    requestedBy: run.requestedBy,
  }));
  enqueueWorks(tx, works, now);
  tx.afterCommit(() => {
    for (const [agentId, { length }] of Map.groupBy(started, (run) => run.agentId))
      wakes.wake(agentId, length === 1 ? 'one' : 'all');
  });
}

/** The event of a run: that it was requested, or, if it does not run, that it ended. */
export function buildRunEvent(run: NewRun): AccountEvent {
  const { executionId, projectId, environmentName, pipelineName, pipelineType, versionName } = run;
  const { agentId, status, trigger, scheduleId, message } = run;
  return {
    name: status === 'RUNNING' ? 'pipeline-execution-requested' : 'pipeline-execution-ended',
    projectId,
    environmentName,
    subject: { type: 'pipeline-execution', id: executionId, name: pipelineName },
    after: {
      ...{
        executionId,
        projectId,
        environmentName,
        pipelineName,
        pipelineType,
        versionName,
        agentId,
        status,
      },
      ...{ trigger, scheduleId },
      ...(run.scheduleTick === null ? {} : { scheduleTick: run.scheduleTick.toISOString() }),
      ...(run.backfillId === null ? {} : { backfillId: run.backfillId }),
      ...(message === null ? {} : { message }),
    },
  };
}
