/**
 * Which execution a run belongs to: the run of the pipeline that was started has the execution's own id, that
 * of a child pipeline the id that one step of the execution announces.
 */
import { type Read, statement } from '../../kernel/database/database.ts';

export interface RunOwner {
  executionId: string;
  /** The step that announces the run; null for an execution itself. */
  stepId: string | null;
}

/** By the run's id. */
export type RunOwners = ReadonlyMap<string, RunOwner>;

interface OwnerRow {
  run_id: string;
  execution_id: string;
  step_id: string | null;
}

const selectOwners = statement<OwnerRow>(`
  select execution_id as run_id, execution_id, null::uuid as step_id
  from pipeline_execution where account_id = $1 and execution_id = any ($2::uuid[])
  union all
  select child_pipeline_id, execution_id, step_id
  from execution_step where account_id = $1 and child_pipeline_id = any ($2::uuid[])`);

/** Runs that nothing owns are not in the map. */
export async function readRunOwners(
  read: Read,
  accountId: string,
  runIds: readonly string[],
): Promise<RunOwners> {
  if (runIds.length === 0) return new Map();
  const rows = await read(selectOwners, [accountId, runIds]);
  return new Map(
    rows.map(({ run_id, execution_id: executionId, step_id: stepId }) => [run_id, { executionId, stepId }]),
  );
}

/** The constraint that two works break when they announce one run at the same moment. */
export const announcesOnce = 'execution_step_announces_once';
