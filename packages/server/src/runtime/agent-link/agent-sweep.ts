/**
 * The periodic job for agents: agents without a heartbeat become `unknown`, pausing agents whose work has
 * ended become `paused`, and agents whose pause is over resume.
 */
import type { Clock } from '../../kernel/clock.ts';
import { type ColumnTypes, type Database, statement } from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { agentStates, connectedSeconds, hasLiveInstance } from '../../workspace/agents/index.ts';

const batch = 500;

const sweptRow = {
  account_id: 'uuid',
  agent_id: 'uuid',
} satisfies ColumnTypes;

/** Moves the agents of `moving` to a status, with one event each. */
const moveTo = (to: 'unknown' | 'paused') => `
  moved as (
    update agent set status = '${to}' from moving
    where agent.account_id = moving.account_id and agent.agent_id = moving.agent_id
  ), noted as (
    ${insertIntoEvent}
    select account_id, $now, ($event_ids::uuid[])[row_number() over ()], 'agent-status-changed', null, 'system',
      null, null, null, 'agent', agent_id::text,
      name, jsonb_build_object('agentStatus', status), jsonb_build_object('agentStatus', '${to}')
    from moving
  )`;
const movesTo = (to: 'unknown' | 'paused') =>
  `a.status in (${agentStates
    .listSources(to)
    .map((status) => `'${status}'`)
    .join(', ')})`;

// Marks the instance as silent and moves its agent in one statement, so that each silence is handled once.
const silence = statement(
  { parameters: { now: 'timestamptz', event_ids: 'uuid[]' }, row: sweptRow, alone: true },
  `
  with gone as (
    select i.ctid as place, a.account_id, a.agent_id from agent_instance i
    join agent a on a.account_id = i.account_id and a.agent_id = i.agent_id
    where not i.silent and i.last_seen_at <= $now::timestamptz - interval '${connectedSeconds} seconds'
    order by i.last_seen_at
    limit ${batch}
    for update of i, a skip locked
  ), marked as (
    update agent_instance set silent = true where ctid = any (array(select place from gone))
  ), moving as (
    select a.account_id, a.agent_id, a.name, a.status from (select distinct account_id, agent_id from gone) one
    join agent a on a.account_id = one.account_id and a.agent_id = one.agent_id
    where ${movesTo('unknown')} and not ${hasLiveInstance('$now')}
  ), ${moveTo('unknown')}
  select account_id, agent_id from gone`,
);

const emptied = statement(
  { parameters: { now: 'timestamptz', event_ids: 'uuid[]' }, row: sweptRow, alone: true },
  `
  with moving as (
    select a.account_id, a.agent_id, a.name, a.status from agent a
    where ${movesTo('paused')} and a.paused and not exists (
      select from work w where w.account_id = a.account_id and w.agent_id = a.agent_id and w.state in ('held', 'silent'))
    order by a.account_id, a.agent_id
    limit ${batch}
    for update skip locked
  ), ${moveTo('paused')}
  select account_id, agent_id from moving`,
);

// A disconnected agent keeps its status; it resumes when it connects.
const resume = statement(
  { parameters: { now: 'timestamptz', event_ids: 'uuid[]' }, row: sweptRow },
  `
  with moving as (
    select a.account_id, a.agent_id, a.name, a.status, case when a.status in ('pausing', 'paused') then 'running' else a.status end as next
    from agent a where a.paused and a.paused_until <= $now
    order by a.paused_until
    limit ${batch}
    for update skip locked
  ), moved as (
    update agent set paused = false, paused_until = null, status = moving.next from moving
    where agent.account_id = moving.account_id and agent.agent_id = moving.agent_id
  ), noted as (
    ${insertIntoEvent}
    select account_id, $now, ($event_ids::uuid[])[row_number() over ()], 'agent-status-changed', null, 'system',
      null, null, null, 'agent', agent_id::text,
      name, jsonb_build_object('agentStatus', status), jsonb_build_object('agentStatus', next)
    from moving where status <> next
  )
  select account_id, agent_id from moving`,
);

const everyMilliseconds = 1_000;

export function agentSweepJob(services: SweepServices & { clock: Clock }): PeriodicJob {
  return {
    name: 'agents',
    everyMilliseconds,
    // By then agents have reconnected after a restart of the server.
    firstAfterMilliseconds: connectedSeconds * 1_000,
    run: () => sweepAgents(services, services.clock.now()),
  };
}

interface SweepServices {
  database: Database;
  newId: NewId;
  wakes: Wakes;
}

/** Runs one round in one trip. Returns whether there is more to do. */
export async function sweepAgents(services: SweepServices, now: Date): Promise<boolean> {
  const swept = await services.database.transaction((tx) => {
    const all = [silence, resume, emptied].map((each) =>
      tx.collect(each, { now, event_ids: Array.from({ length: batch }, services.newId) }),
    );
    tx.afterCommit(() => {
      for (const { agent_id } of all[1] ?? []) services.wakes.wake(agent_id, 'all');
    });
    return all;
  });
  return swept.some((rows) => rows.length === batch);
}
