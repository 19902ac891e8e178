/** The status of an agent is derived from its instances, by the table in agent.ts. */
import type { AgentStatus } from '@headgate/contract';
import { statement, type Transaction, typed } from '../../kernel/database/database.ts';
import { type EventSource, insertIntoEvent } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { agentStates, connectedSeconds } from './agent.ts';

/** SQL: whether the agent `a` has a connected instance `i` that meets a condition, at a time. */
export const hasLiveInstance = (at: string, condition = 'true') => `exists (
    select from agent_instance i
    where i.account_id = a.account_id and i.agent_id = a.agent_id
      and i.last_seen_at > ${at}::timestamptz - interval '${connectedSeconds} seconds' and ${condition})`;

const lockOne = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' } },
  'select from agent where account_id = $account_id and agent_id = $agent_id for update',
);

/** Lock before changing instances: of two concurrent changes, the later one then sees both. */
export function lockAgentStatus(tx: Transaction, accountId: string, agentId: string): void {
  tx.send(lockOne, { account_id: accountId, agent_id: agentId });
}

const allowedMoves = agentStates.states.flatMap((from) =>
  agentStates.states.filter((to) => agentStates.allows(from, to)).map((to) => `${from} ${to}`),
);

const settle = statement(
  {
    parameters: {
      account_id: 'uuid',
      agent_id: 'uuid',
      now: 'timestamptz',
      when_none: 'text?',
      allowed_moves: 'text[]',
      event_id: 'uuid',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
    row: { status: typed<AgentStatus>('text') },
  },
  `
  with facts as (
    select a.agent_id, a.name, a.status, case
        when not ${hasLiveInstance('$now')} then coalesce($when_none, a.status)
        when not ${hasLiveInstance('$now', 'not i.stopping')} then 'stopping'
        when not a.paused then 'running'
        when a.status = 'paused' then 'paused'
        else 'pausing'
      end as next
    from agent a where a.account_id = $account_id and a.agent_id = $agent_id
  ), moving as (
    select agent_id, name, status, next from facts where status || ' ' || next = any ($allowed_moves)
  ), moved as (
    update agent set status = moving.next from moving
    where agent.account_id = $account_id and agent.agent_id = moving.agent_id and agent.status = moving.status
    returning agent.agent_id
  ), noted as (
    ${insertIntoEvent}
    select $account_id, $now, $event_id, 'agent-status-changed', $actor_id, $actor_kind, $request_id, null, null,
      'agent', agent_id::text, name,
      jsonb_build_object('agentStatus', status), jsonb_build_object('agentStatus', next)
    from moving where exists (select from moved)
  )
  select next as status from facts`,
);

export interface StatusMoment {
  tx: Transaction;
  source: EventSource;
  now: Date;
  newId: NewId;
}

/**
 * Moves an agent to the status derived from its instances; the caller holds the lock. `whenNone` is the
 * status without a connected instance; by default the status stays. The returned rows are filled at commit,
 * and empty for a deleted agent.
 */
export function updateStatus(
  { tx, source, now, newId }: StatusMoment,
  agentId: string,
  whenNone?: 'stopped',
): readonly { status: AgentStatus }[] {
  return tx.collect(settle, {
    account_id: source.accountId,
    agent_id: agentId,
    now,
    when_none: whenNone ?? null,
    allowed_moves: allowedMoves,
    event_id: newId(),
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
}
