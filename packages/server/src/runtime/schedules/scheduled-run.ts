/** A run of a schedule: at a tick, by hand, or of a backfill. */
import { renderPipelinePath } from '../../delivery/artifacts/index.ts';
import type { FoundStart, NewRun } from '../executions/index.ts';
import type { ScheduleRow } from './schedule/schedule.store.ts';

type Given = Pick<NewRun, 'executionId' | 'trigger' | 'userName' | 'requestedBy'> &
  Partial<Pick<NewRun, 'status' | 'message' | 'scheduleTick' | 'backfillId'>>;

export function createScheduledRun(
  row: ScheduleRow,
  { accountId, projectId }: { accountId: string; projectId: string },
  { start, sharedArtifacts }: Extract<FoundStart, { problem?: undefined }>,
  input: Given,
): NewRun {
  const { pipeline, version, agentId } = start;
  return {
    accountId,
    projectId,
    environmentName: row.environment_name,
    pipelineName: renderPipelinePath(pipeline),
    pipelineType: pipeline.type,
    versionName: version.name,
    manifestDigest: version.manifestDigest,
    agentId,
    sharedArtifacts,
    scalarVariables: row.scalar_variables,
    gridVariables: row.grid_variables,
    scheduleId: row.schedule_id,
    status: 'RUNNING',
    message: null,
    scheduleTick: null,
    backfillId: null,
    ...input,
  };
}
