/** The status of an agent follows from what is known of its instances, and moves by the table of agent.ts. */
import type { AgentStatus } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { type EventSource, insertIntoEvent } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { agentStates, connectedSeconds } from './agent.ts';

/** SQL: whether an instance of the agent `a` is heard of, at a time, with more conditions on it, `i`. */
export const heardOf = (at: string, condition = 'true') => `exists (
    select from agent_instance i
    where i.account_id = a.account_id and i.agent_id = a.agent_id
      and i.last_seen_at > ${at}::timestamptz - interval '${connectedSeconds} seconds' and ${condition})`;

const lockOne = statement('select from agent where account_id = $1 and agent_id = $2 for update');

/**
 * Before what is known of its instances changes: two that change it at once follow one another, and the later
 * one sees both.
 */
export function lockAgentStatus(tx: Transaction, accountId: string, agentId: string): void {
  tx.send(lockOne, [accountId, agentId]);
}

const allowedMoves = agentStates.states.flatMap((from) =>
  agentStates.states.filter((to) => agentStates.allows(from, to)).map((to) => `${from} ${to}`),
);

const settle = statement<{ status: AgentStatus }>(`
  with facts as (
    select a.agent_id, a.name, a.status, case
        when not ${heardOf('$3')} then coalesce($4, a.status)
        when not ${heardOf('$3', 'not i.stopping')} then 'stopping'
        when not a.paused then 'running'
        when a.status = 'paused' then 'paused'
        else 'pausing'
      end as next
    from agent a where a.account_id = $1 and a.agent_id = $2
  ), moving as (
    select agent_id, name, status, next from facts where status || ' ' || next = any ($5)
  ), moved as (
    update agent set status = moving.next from moving
    where agent.account_id = $1 and agent.agent_id = moving.agent_id and agent.status = moving.status
    returning agent.agent_id
  ), noted as (
    ${insertIntoEvent}
    select $1, $3, $6, 'agent-status-changed', $7, $8, $9, null, 'agent', agent_id::text, name,
      jsonb_build_object('agentStatus', status), jsonb_build_object('agentStatus', next)
    from moving where exists (select from moved)
  )
  select next as status from facts`);

export interface StatusMoment {
  tx: Transaction;
  source: EventSource;
  now: Date;
  newId: NewId;
}

/**
 * Moves an agent to the status that its instances tell; the caller has locked it. `whenNone`: the status when
 * none is heard of, else it stays as it is. The rows are there after the commit: none for an agent that is
 * deleted.
 */
export function settleStatus(
  { tx, source, now, newId }: StatusMoment,
  agentId: string,
  whenNone?: 'stopped',
): readonly { status: AgentStatus }[] {
  const by = [source.actorId, source.actorKind, source.requestId];
  return tx.collect(settle, [source.accountId, agentId, now, whenNone ?? null, allowedMoves, newId(), ...by]);
}
