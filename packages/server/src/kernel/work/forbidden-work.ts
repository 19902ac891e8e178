/**
 * Ends queued work that its agent may no longer do because the agent became restricted or its allowlist
 * changed. The sweep checks new work (work-sweep.ts); this checks earlier work, once per change.
 */

import { type Database, statement, typed } from '../database/database.ts';
import type { EventSource } from '../database/events.ts';
import type { NewId } from '../identifiers.ts';
import { describePermission, isAllowed, isWorkStillPermitted } from './claim.ts';
import {
  endWork,
  requireOwner,
  type WorkEnd,
  type WorkMoment,
  type WorkOwners,
  type WorkRow,
} from './work.ts';
import { createForbiddenEnd, sweepBatch } from './work-sweep.ts';

const anyChanged = statement(
  {},
  'select from agent where places_changed order by account_id, agent_id limit 1',
);

// Does not block inserts of work for the agent, which the sweep checks.
const lockChanged = statement(
  { row: { account_id: 'uuid', agent_id: 'uuid' } },
  `
  select account_id, agent_id from agent where places_changed
  order by account_id, agent_id limit 1
  for no key update skip locked`,
);

const forbidden = `
  from agent a
  join work w on w.account_id = a.account_id and w.agent_id = a.agent_id and w.state = 'queued'
  where a.account_id = $account_id and a.agent_id = $agent_id and a.restricted_access and w.command is null
    and not ${isAllowed('w')}`;

const selectForbidden = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid' },
    row: {
      work_id: 'uuid',
      environment_name: 'text?',
      agent_name: 'text',
      kind: typed<WorkRow['kind']>('text'),
    },
    alone: true,
  },
  `
  select w.work_id, w.kind, w.environment_name, a.name as agent_name ${forbidden}
  limit ${sweepBatch}
  for update of w skip locked`,
);

// The sweep of another server may hold a row and have read the old allowlist. It would not check that row
// again before the queue limit.
const anyOther = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', except_ids: 'uuid[]' }, alone: true },
  `select ${forbidden} and not w.work_id = any ($except_ids::uuid[]) limit 1`,
);

const clear = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' } },
  'update agent set places_changed = false where account_id = $account_id and agent_id = $agent_id',
);

const selectUnpermitted = statement(
  {
    parameters: { account_id: 'uuid', work_ids: 'uuid[]', now: 'timestamptz' },
    row: { work_id: 'uuid', environment_name: 'text?', kind: 'text', requested_by_name: 'text?' },
  },
  `
  select w.work_id, w.kind, w.environment_name, (
    select p.name from principal p
    where p.account_id = w.account_id and p.principal_id = w.requested_by) as requested_by_name
  from work w
  where w.account_id = $account_id and w.work_id = any ($work_ids::uuid[]) and w.state = 'queued'
    and w.command is null and not ${isWorkStillPermitted('w')}
  order by w.work_id
  for update of w`,
);

/** Ends queued work that a claim refused because its caller has lost the permission for it. */
export function endUnpermittedWork(
  services: { database: Database; newId: NewId },
  owners: WorkOwners,
  { accountId, workIds }: { accountId: string; workIds: readonly string[] },
  now: Date,
): Promise<void> {
  return services.database.transaction(async (tx) => {
    const rows = await tx.query(selectUnpermitted, { account_id: accountId, work_ids: workIds, now });
    const source: EventSource = { accountId, actorId: null, actorKind: 'system', requestId: null };
    const moment: WorkMoment = { tx, accountId, source, now, newId: services.newId };
    endWork(
      tx,
      accountId,
      rows.map((row) => row.work_id),
      now,
    );
    for (const [kind, works] of Map.groupBy(rows, (row) => row.kind)) {
      const ends = works.map((work): WorkEnd => {
        const who = JSON.stringify(work.requested_by_name);
        const where = JSON.stringify(work.environment_name);
        const message = `${who}, which started it, no longer has permission to ${describePermission(kind)} in the environment ${where}.`;
        return { workId: work.work_id, status: 'FORBIDDEN', message };
      });
      requireOwner(owners, kind).onEnded(moment, ends);
    }
  });
}

/**
 * Checks the queued work of one agent whose allowed places changed, and ends forbidden work. Claims skip
 * forbidden work in the meantime. What counts is the allowlist when work starts, so nothing is checked when
 * it is queued. Returns whether there may be more.
 */
export async function endForbiddenWork(
  services: { database: Database; newId: NewId },
  owners: WorkOwners,
  now: Date,
): Promise<boolean> {
  if ((await services.database.read(anyChanged, {})).length === 0) return false;
  return services.database.transaction(async (tx) => {
    const [agent] = await tx.query(lockChanged, {});
    if (agent === undefined) return false;
    const { account_id: accountId, agent_id: agentId } = agent;
    const rows = await tx.query(selectForbidden, { account_id: accountId, agent_id: agentId });
    const ids = rows.map((work) => work.work_id);
    const isLast =
      (await tx.query(anyOther, { account_id: accountId, agent_id: agentId, except_ids: ids })).length === 0;
    if (isLast) tx.send(clear, { account_id: accountId, agent_id: agentId });
    // Rows locked by others are checked in the next round.
    if (rows.length === 0) return isLast;
    const source: EventSource = { accountId, actorId: null, actorKind: 'system', requestId: null };
    const moment: WorkMoment = { tx, accountId, source, now, newId: services.newId };
    endWork(tx, accountId, ids, now);
    for (const [kind, works] of Map.groupBy(rows, (row) => row.kind))
      requireOwner(owners, kind).onEnded(moment, works.map(createForbiddenEnd));
    return true;
  });
}
