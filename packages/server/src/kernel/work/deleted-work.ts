/**
 * The end of the work of what is deleted, in the transaction that deletes it: of a project, or of the agent
 * that was to do it. Nothing of it may stay, not even until the next sweep.
 */
import { type Statement, statement } from '../database/database.ts';
import { ownerOf, type WorkEnd, type WorkMoment, type WorkOwners, type WorkRow } from './work.ts';

type UnderWay = Pick<WorkRow, 'work_id' | 'kind'>;

// The states as the two indices of such work name them. Locked before the cascade comes to it: what an agent
// reports meanwhile waits here, or is waited for, and never both.
const lockUnderWay = (of: 'project_id' | 'agent_id') =>
  statement<UnderWay>(`
  select work_id, kind from work where account_id = $1 and ${of} = $2 and (state = 'queued' or state in ('held', 'silent'))
  order by work_id
  for update`);
const ofProject = lockUnderWay('project_id');
const ofAgent = lockUnderWay('agent_id');

/** Its holders are told at their next sign of life: the work that they name is not theirs any more. */
export function endWorkOfProject(moment: WorkMoment, owners: WorkOwners, projectId: string): Promise<void> {
  return endWork(moment, owners, [ofProject, projectId], 'Its project was deleted.');
}

export function endWorkOfAgent(moment: WorkMoment, owners: WorkOwners, agentId: string): Promise<void> {
  return endWork(moment, owners, [ofAgent, agentId], 'Its agent was deleted.');
}

async function endWork(
  moment: WorkMoment,
  owners: WorkOwners,
  [lock, id]: [Statement<UnderWay>, string],
  message: string,
): Promise<void> {
  const rows = await moment.tx.query(lock, [moment.accountId, id]);
  for (const [kind, works] of Map.groupBy(rows, (row) => row.kind)) {
    const ends = works.map((work): WorkEnd => ({ workId: work.work_id, status: 'CANCELLED', message }));
    ownerOf(owners, kind).ended(moment, ends);
  }
}
