/** Counts the steps of an execution and their size, to limit what its agent reports. */
import { type Read, statement } from '../../../kernel/database/database.ts';

export interface StepTotal {
  steps: number;
  /** The size of the messages, statements and records for a restart. */
  bytes: number;
}

/** The totals of each execution, without the steps that are reported again. */
export type StepTotals = ReadonlyMap<string, StepTotal>;

const selectTotals = statement(
  {
    parameters: { account_id: 'uuid', execution_ids: 'uuid[]', step_ids: 'uuid[]' },
    row: { execution_id: 'uuid', steps: 'integer', bytes: 'double precision' },
  },
  `
  select execution_id, count(*)::integer as steps, coalesce(sum(coalesce(octet_length(message), 0) + coalesce(octet_length(sql), 0)
    + coalesce(pg_column_size(restart), 0)), 0)::double precision as bytes
  from execution_step where account_id = $account_id and execution_id = any ($execution_ids::uuid[])
    and step_id <> all ($step_ids::uuid[])
  group by execution_id`,
);

export async function readStepTotals(
  read: Read,
  accountId: string,
  executionIds: readonly string[],
  stepIds: readonly string[],
): Promise<StepTotals> {
  if (executionIds.length === 0) return new Map();
  const rows = await read(selectTotals, {
    account_id: accountId,
    execution_ids: executionIds,
    step_ids: stepIds,
  });
  return new Map(rows.map(({ execution_id, steps, bytes }) => [execution_id, { steps, bytes }]));
}
