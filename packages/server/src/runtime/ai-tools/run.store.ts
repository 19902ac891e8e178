/** The table `ai_run`: the executions that a task started. */
import { type Read, statement, typed } from '../../kernel/database/database.ts';
import type { CopyKey } from './working-copy.store.ts';

export type RunKind = 'PIPELINE' | 'TESTS';

const key = { account_id: 'uuid', task_id: 'uuid' } as const;

export const storeRun = statement(
  { parameters: { ...key, execution_id: 'uuid', kind: 'text', now: 'timestamptz' } },
  `insert into ai_run (account_id, task_id, execution_id, kind, started_at)
  values ($account_id, $task_id, $execution_id, $kind, $now)
  on conflict (account_id, task_id, execution_id) do nothing`,
);

const selectRuns = statement(
  {
    parameters: { ...key, limit: 'bigint' },
    row: {
      execution_id: 'uuid',
      kind: typed<RunKind>('text'),
      started_at: 'timestamptz',
      /** Null if the execution was deleted. */
      name: 'text?',
      status: 'text?',
    },
  },
  `
  select r.execution_id, r.kind, r.started_at, coalesce(e.pipeline_name, t.scope) as name, coalesce(e.status::text, t.status::text) as status
  from ai_run r
  left join pipeline_execution e on e.account_id = r.account_id and e.execution_id = r.execution_id
  left join test_execution t on t.account_id = r.account_id and t.test_execution_id = r.execution_id
  where r.account_id = $account_id and r.task_id = $task_id
  order by r.started_at desc, r.execution_id limit $limit`,
);

/** The last ones first. */
export async function listRuns(read: Read, { accountId, taskId }: CopyKey, limit: number) {
  return read(selectRuns, { account_id: accountId, task_id: taskId, limit });
}
