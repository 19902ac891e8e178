/** The warehouse whose SQL a tool shows: that of the task's project and environment. */
import type { ProjectWarehouse } from '@headgate/contract';
import type { Database } from '../../kernel/database/database.ts';
import { typed } from '../../kernel/database/trips/sql-types.ts';
import { statement } from '../../kernel/database/trips/statement.ts';
import { selectWarehouse } from '../../workspace/connections/index.ts';
import type { ToolContext } from './tool/tool.ts';

const selectPlannedWarehouse = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text' },
    row: { warehouse: typed<ProjectWarehouse>('jsonb') },
  },
  `
  select ${selectWarehouse('place')} as warehouse
  from (select $account_id::uuid as account_id, $project_id::uuid as project_id,
    $environment_name::text as environment_name) as place`,
);

export async function readPlannedWarehouse(
  { read }: Pick<Database, 'read'>,
  { task }: ToolContext,
): Promise<ProjectWarehouse | undefined> {
  const [row] = await read(selectPlannedWarehouse, {
    account_id: task.accountId,
    project_id: task.projectId,
    environment_name: task.environmentName ?? '',
  });
  return row?.warehouse;
}
