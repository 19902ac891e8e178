/** Agents whose time has come: those that nobody hears of, those that ended all they held, and those whose pause is over. */
import { type Database, statement } from '../../kernel/database.ts';
import { insertIntoEvent } from '../../kernel/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Wakes } from '../../kernel/wakes.ts';
import { agentStates, agentsHeardOf } from '../../workspace/agents/index.ts';

const batch = 500;

interface SweptRow {
  agent_id: string;
}

/** Moves the agents `a` that fulfil a condition; each leaves an event. Parameters: now, ids of events. */
const moveAgents = (to: 'unknown' | 'paused', condition: string) =>
  statement<SweptRow>(
    `
  with moving as (
    select a.account_id, a.agent_id, a.name, a.status from agent a
    where a.status in (${agentStates
      .sources(to)
      .map((status) => `'${status}'`)
      .join(', ')}) and ${condition}
    limit ${batch}
    for update skip locked
  ), moved as (
    update agent set status = '${to}' from moving
    where agent.account_id = moving.account_id and agent.agent_id = moving.agent_id
  ), noted as (
    ${insertIntoEvent}
    select account_id, $1, ($2::uuid[])[row_number() over ()], 'agent-status-changed', null, 'system', null, null, 'agent', agent_id::text,
      name, jsonb_build_object('agentStatus', status), jsonb_build_object('agentStatus', '${to}')
    from moving
  )
  select agent_id from moving`,
    // It looks at all that are running: no write of a request waits for it.
    { alone: true },
  );

// Of ten thousand agents nearly all are heard of: the list of those is made once, and each is looked for in it.
const silence = moveAgents('unknown', `a.agent_id not in (${agentsHeardOf('$1')})`);
const emptied = moveAgents(
  'paused',
  `a.paused and not exists (
    select from work w where w.account_id = a.account_id and w.agent_id = a.agent_id and w.state in ('held', 'silent'))`,
);

// An agent that is away stays so; that it is free again shows when it comes.
const resume = statement<SweptRow>(`
  with moving as (
    select a.account_id, a.agent_id, a.name, a.status, case when a.status in ('pausing', 'paused') then 'running' else a.status end as next
    from agent a where a.paused and a.paused_until <= $1
    limit ${batch}
    for update skip locked
  ), moved as (
    update agent set paused = false, paused_until = null, status = moving.next from moving
    where agent.account_id = moving.account_id and agent.agent_id = moving.agent_id
  ), noted as (
    ${insertIntoEvent}
    select account_id, $1, ($2::uuid[])[row_number() over ()], 'agent-status-changed', null, 'system', null, null, 'agent', agent_id::text,
      name, jsonb_build_object('agentStatus', status), jsonb_build_object('agentStatus', next)
    from moving where status <> next
  )
  select agent_id from moving`);

/** One round, in one trip. Answers whether there is more. */
export async function sweepAgents(
  services: { database: Database; newId: NewId; wakes: Wakes },
  now: Date,
): Promise<boolean> {
  const swept = await services.database.transaction((tx) => {
    const all = [silence, resume, emptied].map((each) =>
      tx.collect(each, [now, Array.from({ length: batch }, services.newId)]),
    );
    tx.afterCommit(() => {
      for (const { agent_id } of all[1] ?? []) services.wakes.wake(agent_id, 'all');
    });
    return all;
  });
  return swept.some((rows) => rows.length === batch);
}
