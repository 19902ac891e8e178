/** What the operations on changes read: the task with its working copy. */
import type { AiAgentConfig } from '@headgate/contract';
import { statement, type Transaction, typed } from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { type CopyRow, copyRow } from '../ai-tools/index.ts';

const copyColumns = Object.keys(copyRow);
const ofCopy = copyColumns.map((name) => `'${name}', w.${name}`).join(', ');

export const taskWithCopy = guardedRead(
  {
    parameters: { task_id: 'uuid' },
    row: {
      status: 'text',
      agent_config: typed<AiAgentConfig>('jsonb'),
      description: 'text',
      caller_name: 'text',
      /** Null if the task has not looked at files. */
      copy: typed<CopyRow | null>('json'),
    },
  },
  `
  select t.status, t.agent_config, t.description,
    (select name from principal where account_id = $account_id and principal_id = $principal_id) as caller_name,
    (select json_build_object(${ofCopy}) from ai_working_copy w
      where w.account_id = t.account_id and w.task_id = t.task_id) as copy
  from ai_task t
  where t.account_id = $account_id and t.task_id = $task_id and t.project_id = $project_id`,
);

export interface ChangesKey {
  accountId: string;
  taskId: string;
}

const selectStatus = statement(
  { parameters: { account_id: 'uuid', task_id: 'uuid' }, row: { status: 'text' } },
  'select status from ai_task where account_id = $account_id and task_id = $task_id for share',
);

/** Keeps the task from being resumed until the end of the transaction. */
export async function lockStatus(tx: Transaction, { accountId, taskId }: ChangesKey) {
  return (await tx.query(selectStatus, { account_id: accountId, task_id: taskId }))[0];
}
