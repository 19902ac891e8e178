/**
 * The end of the work of what is deleted, in the transaction that deletes it: of a project, or of the agent
 * that was to do it. Nothing of it may stay, not even until the next sweep.
 */
import { statement, typed } from '../database/database.ts';
import { requireOwner, type WorkEnd, type WorkMoment, type WorkOwners, type WorkRow } from './work.ts';

// The states as the two indices of such work name them. Locked before the cascade comes to it: what an agent
// reports meanwhile waits here, or is waited for, and never both.
const declareLock = (of: 'project_id' | 'agent_id') =>
  statement(
    {
      parameters: { account_id: 'uuid', id: 'uuid' },
      row: { work_id: 'uuid', kind: typed<WorkRow['kind']>('text') },
    },
    `
  select work_id, kind from work where account_id = $account_id and ${of} = $id and (state = 'queued'
    or state in ('held', 'silent'))
  order by work_id
  for update`,
  );
const lockWorkOfProject = declareLock('project_id');
const lockWorkOfAgent = declareLock('agent_id');

/** Its holders are told at their next sign of life: the work that they name is not theirs any more. */
export function endWorkOfProject(moment: WorkMoment, owners: WorkOwners, projectId: string): Promise<void> {
  return endLockedWork(moment, owners, [lockWorkOfProject, projectId], 'The project was deleted.');
}

export function endWorkOfAgent(moment: WorkMoment, owners: WorkOwners, agentId: string): Promise<void> {
  return endLockedWork(moment, owners, [lockWorkOfAgent, agentId], 'The agent was deleted.');
}

async function endLockedWork(
  moment: WorkMoment,
  owners: WorkOwners,
  [lock, id]: [typeof lockWorkOfProject, string],
  message: string,
): Promise<void> {
  const rows = await moment.tx.query(lock, { account_id: moment.accountId, id });
  for (const [kind, works] of Map.groupBy(rows, (row) => row.kind)) {
    const ends = works.map((work): WorkEnd => ({ workId: work.work_id, status: 'CANCELLED', message }));
    requireOwner(owners, kind).onEnded(moment, ends);
  }
}
