/** The end of a project's work, in the transaction that deletes the project: nothing of it may stay, not even until the next sweep. */
import { statement } from './database.ts';
import type { WorkEnd, WorkMoment, WorkOwners, WorkRow } from './work.ts';

// Locked before the cascade comes to it: what an agent reports meanwhile waits here, or is waited for, and never both.
const lockUnderWay = statement<Pick<WorkRow, 'work_id' | 'kind'>>(`
  select work_id, kind from work where account_id = $1 and project_id = $2 and state <> 'ended'
  order by work_id
  for update`);

/** Its holders are told at their next sign of life: the work that they name is not theirs any more. */
export async function endWorkOfProject(
  moment: WorkMoment,
  owners: WorkOwners,
  projectId: string,
): Promise<void> {
  const rows = await moment.tx.query(lockUnderWay, [moment.accountId, projectId]);
  for (const [kind, works] of Map.groupBy(rows, (row) => row.kind)) {
    const ends = works.map(
      (work): WorkEnd => ({
        workId: work.work_id,
        status: 'CANCELLED',
        message: 'Its project was deleted.',
      }),
    );
    owners[kind].ended(moment, ends);
  }
}
