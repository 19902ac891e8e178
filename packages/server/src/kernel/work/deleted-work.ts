/**
 * Ends the work of a deleted project or agent, in the transaction that deletes it, so that none is left until
 * the next sweep.
 */
import { statement, typed } from '../database/database.ts';
import { requireOwner, type WorkEnd, type WorkMoment, type WorkOwners, type WorkRow } from './work.ts';

// The conditions match the two partial indexes. Locking before the cascade makes concurrent reports wait, and
// avoids a deadlock with them.
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

/** At the next heartbeat the holders learn that they no longer hold this work. */
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
