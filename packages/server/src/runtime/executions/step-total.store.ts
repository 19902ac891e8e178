/** How many steps an execution has, and how large they are: what its agent reports is bounded. */
import { type Read, statement } from '../../kernel/database/database.ts';

export interface StepTotal {
  steps: number;
  /** Of the messages. */
  bytes: number;
}

/** Of each execution, without the steps that are reported again. */
export type StepTotals = ReadonlyMap<string, StepTotal>;

const selectTotals = statement<{ execution_id: string; steps: number; bytes: number }>(`
  select execution_id, count(*)::integer as steps, coalesce(sum(octet_length(message)), 0)::double precision as bytes
  from execution_step where account_id = $1 and execution_id = any ($2::uuid[]) and step_id <> all ($3::uuid[])
  group by execution_id`);

export async function readStepTotals(
  read: Read,
  accountId: string,
  executionIds: readonly string[],
  stepIds: readonly string[],
): Promise<StepTotals> {
  if (executionIds.length === 0) return new Map();
  const rows = await read(selectTotals, [accountId, executionIds, stepIds]);
  return new Map(rows.map(({ execution_id, steps, bytes }) => [execution_id, { steps, bytes }]));
}
