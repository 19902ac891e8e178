/** Locks a task for a request, and reads what the request depends on. */
import type { AiAgentConfig, AiTaskStatus } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { problem } from '../../../kernel/http/problems.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';

const lockedRow = {
  project_id: 'uuid',
  status: typed<AiTaskStatus>('text'),
  agent_config: typed<AiAgentConfig>('jsonb'),
  description: 'text',
  last_position: 'bigint',
  turns: 'integer',
  input_tokens: 'bigint',
  output_tokens: 'bigint',
  cost: 'bigint',
  milliseconds: 'bigint',
  /** A server works on it. A call that has begun may still have an effect. */
  is_at_work: 'boolean',
  /** What the files of the task are over; null if it has not looked at files since the last merge or discard. */
  copy_of: typed<'branch' | 'version' | null>('text'),
} satisfies ColumnTypes;
export type LockedTask = RowOf<typeof lockedRow>;
const lockOne = statement(
  { parameters: { account_id: 'uuid', task_id: 'uuid' }, row: lockedRow },
  `
  select t.project_id, t.status, t.agent_config, t.description, t.last_position, t.turns, t.input_tokens,
    t.output_tokens, t.cost, t.milliseconds,
    t.lease_until is not null or exists (
      select from ai_call c where c.account_id = t.account_id and c.task_id = t.task_id and c.status = 'RUNNING') as is_at_work,
    (select case when w.source_branch is null then 'version' else 'branch' end from ai_working_copy w
      where w.account_id = t.account_id and w.task_id = t.task_id and w.state = 'OPEN') as copy_of
  from ai_task t where t.account_id = $account_id and t.task_id = $task_id for update of t`,
);

/** Locks a task. @throws `ai-task-not-found` */
export async function lockTask(tx: Transaction, scope: Scope, taskId: string): Promise<LockedTask> {
  const [row] = await tx.query(lockOne, { account_id: scope.accountId, task_id: taskId });
  if (row === undefined) throw problem('ai-task-not-found', { id: taskId });
  return row;
}
