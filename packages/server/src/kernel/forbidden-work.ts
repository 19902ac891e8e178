/** Work that its agent may not do: the agent is restricted, and its allowlist does not name the place. */

import { isAllowed } from './claim.ts';
import { type Database, statement } from './database.ts';
import type { EventSource } from './events.ts';
import type { NewId } from './identifiers.ts';
import { endAll, type WorkMoment, type WorkOwners, type WorkRow } from './work.ts';
import { sweepBatch } from './work-sweep.ts';

type ForbiddenRow = Pick<WorkRow, 'account_id' | 'work_id' | 'kind' | 'environment_name'> & {
  agent_name: string;
};

const selectForbidden = statement<ForbiddenRow>(`
  select w.account_id, w.work_id, w.kind, w.environment_name, a.name as agent_name
  from agent a
  join work w on w.account_id = a.account_id and w.agent_id = a.agent_id and w.state = 'queued'
  where a.restricted_access and w.command is null and not ${isAllowed('w')}
  order by w.account_id, w.work_id
  limit ${sweepBatch}
  for update of w skip locked`);

/**
 * Ends what waits for an agent that may not have it; a claim passes over it. It is looked for here, and not at the start of an execution,
 * because what is allowed when it comes to run counts. Answers how many, at most a batch.
 */
export async function endForbiddenWork(
  services: { database: Database; newId: NewId },
  owners: WorkOwners,
  now: Date,
): Promise<number> {
  return services.database.transaction(async (tx) => {
    const rows = await tx.query(selectForbidden, []);
    for (const [accountId, inAccount] of Map.groupBy(rows, (row) => row.account_id)) {
      const source: EventSource = { accountId, actorId: null, actorKind: 'system', requestId: null };
      const moment: WorkMoment = { tx, accountId, source, now, newId: services.newId };
      endAll(
        tx,
        accountId,
        inAccount.map((work) => work.work_id),
        now,
      );
      for (const [kind, works] of Map.groupBy(inAccount, (row) => row.kind)) {
        owners[kind].ended(
          moment,
          works.map((work) => ({ workId: work.work_id, status: 'FORBIDDEN', message: reasonOf(work) })),
        );
      }
    }
    return rows.length;
  });
}

function reasonOf({ agent_name: agent, environment_name: environment }: ForbiddenRow): string {
  return `The agent ${JSON.stringify(agent)} is restricted, and its allowlist does not name the environment ${JSON.stringify(environment)} of this project.`;
}
