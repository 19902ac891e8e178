/**
 * Finds the execution of a run. The run of the started pipeline has the execution's own id. The run of a
 * child pipeline has the id that one step of the execution announces.
 */
import { type ColumnTypes, type Read, statement } from '../../../kernel/database/database.ts';

export interface RunOwner {
  executionId: string;
  /** The step that announces the run; null for the execution itself. */
  stepId: string | null;
}

/** By the run's id. */
export type RunOwners = ReadonlyMap<string, RunOwner>;

const ownerRow = {
  run_id: 'uuid',
  execution_id: 'uuid',
  step_id: 'uuid?',
} satisfies ColumnTypes;

const selectOwners = statement(
  { parameters: { account_id: 'uuid', run_ids: 'uuid[]' }, row: ownerRow },
  `
  select execution_id as run_id, execution_id, null::uuid as step_id
  from pipeline_execution where account_id = $account_id and execution_id = any ($run_ids::uuid[])
  union all
  select child_pipeline_id, execution_id, step_id
  from execution_step where account_id = $account_id and child_pipeline_id = any ($run_ids::uuid[])`,
);

/** Unknown runs are not in the map. */
export async function readRunOwners(
  read: Read,
  accountId: string,
  runIds: readonly string[],
): Promise<RunOwners> {
  if (runIds.length === 0) return new Map();
  const rows = await read(selectOwners, { account_id: accountId, run_ids: runIds });
  return new Map(
    rows.map(({ run_id, execution_id: executionId, step_id: stepId }) => [run_id, { executionId, stepId }]),
  );
}

/** The constraint violated if two works announce the same run at the same moment. */
export const announcesOnce = 'execution_step_announces_once';
