/** The schedules that go with their environment. */
import { type RowOf, statement, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

/** Names in the event of the environment; each schedule has an event of its own. */
const namedLimit = 1_000;

const deletedRow = { schedule_id: 'uuid', name: 'text', pipeline_name: 'text' } as const;

const deleteAll = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text' },
    row: deletedRow,
  },
  `
  delete from schedule
  where account_id = $account_id and project_id = $project_id and environment_name = $environment_name
  returning schedule_id, name, pipeline_name`,
);

export interface DeletedSchedules {
  /** Members of the event of the environment; none without schedules. */
  named: { schedules?: string[]; scheduleCount?: number };
  events: AccountEvent[];
}

/** Deletes the schedules of a locked environment. */
export async function deleteSchedulesIn(
  tx: Transaction,
  { accountId }: Scope,
  projectId: string,
  environmentName: string,
): Promise<DeletedSchedules> {
  const rows: RowOf<typeof deletedRow>[] = await tx.query(deleteAll, {
    account_id: accountId,
    project_id: projectId,
    environment_name: environmentName,
  });
  const names = rows.map((row) => row.name).sort();
  const events = rows.map(
    ({ schedule_id: id, name, pipeline_name: pipelineName }): AccountEvent => ({
      name: 'schedule-deleted',
      projectId,
      environmentName,
      subject: { type: 'schedule', id, name },
      before: { scheduleId: id, name, pipelineName, environmentName },
    }),
  );
  const named =
    rows.length === 0 ? {} : { schedules: names.slice(0, namedLimit), scheduleCount: rows.length };
  return { named, events };
}
