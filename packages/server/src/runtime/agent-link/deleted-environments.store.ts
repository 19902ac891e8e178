/** The deleted environments of projects that an agent has data of. */
import {
  type DeletedEnvironments,
  type DeletedEnvironmentsRequest,
  deletedEnvironmentLimit,
} from '@headgate/contract';
import { type Read, statement } from '../../kernel/database/database.ts';

const selectDeleted = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_ids: 'uuid[]',
      after_project: 'uuid?',
      after_name: 'text?',
      limit: 'bigint',
    },
    row: { project_id: 'uuid', environment_name: 'text', generation: 'integer' },
  },
  `
  select project_id, environment_name, generation from deleted_environment
  where account_id = $account_id and project_id = any ($project_ids::uuid[])
    and ($after_project::uuid is null or (project_id, environment_name) > ($after_project::uuid, $after_name::text))
  order by project_id, environment_name limit $limit`,
);

export async function findDeletedEnvironments(
  read: Read,
  accountId: string,
  { projectIds, after }: DeletedEnvironmentsRequest,
): Promise<DeletedEnvironments> {
  const rows = await read(selectDeleted, {
    account_id: accountId,
    project_ids: projectIds,
    after_project: after?.projectId ?? null,
    after_name: after?.environmentName ?? null,
    limit: deletedEnvironmentLimit + 1,
  });
  const deleted = rows
    .slice(0, deletedEnvironmentLimit)
    .map(({ project_id: projectId, environment_name: environmentName, generation }) => ({
      projectId,
      environmentName,
      generation,
    }));
  return { deleted, isCut: rows.length > deletedEnvironmentLimit };
}
