/**
 * The statement of a roll call: records the signs of life of many instances and returns whether something
 * waits for them.
 */
import type { AgentStatus } from '@headgate/contract';
import { type ColumnTypes, statement, typed } from '../../kernel/database/database.ts';

const calledRow = {
  /** The position of the instance in the parameters, from 1. */
  place: 'integer',
  name: 'text',
  secret_generation: 'integer',
  agent_status: typed<AgentStatus>('text'),
  stopping: 'boolean',
  /** Work for its agent, a command for its work, or one for the instance itself. */
  has_news: 'boolean',
} satisfies ColumnTypes;

/**
 * No row for an instance that is unknown or locked by another transaction; one row for an instance that is
 * listed twice. Callers pass the instances in one order, so that two servers never deadlock.
 */
export const callRoll = statement(
  {
    parameters: {
      account_ids: 'uuid[]',
      agent_ids: 'uuid[]',
      instance_ids: 'uuid[]',
      // As text: text arrays are sent without a check of each element.
      seen_at: typed<readonly string[]>('timestamptz[]'),
    },
    row: calledRow,
    alone: true,
  },
  `
  with called as (
    select i.account_id, i.agent_id, i.instance_id, heard.seen_at, heard.place
    from unnest($account_ids::uuid[], $agent_ids::uuid[], $instance_ids::uuid[], $seen_at::timestamptz[]) with ordinality
      as heard (account_id, agent_id, instance_id, seen_at, place)
    cross join lateral (
      select account_id, agent_id, instance_id from agent_instance i
      where i.account_id = heard.account_id and i.agent_id = heard.agent_id and i.instance_id = heard.instance_id
      for update skip locked
    ) i
  ), noted as (
    update agent_instance i set last_seen_at = greatest(i.last_seen_at, called.seen_at), silent = false from called
    where i.account_id = called.account_id and i.agent_id = called.agent_id and i.instance_id = called.instance_id
    returning called.place, i.account_id, i.agent_id, i.instance_id, i.stopping, i.restart_requested
  )
  select n.place::integer, a.name, a.secret_generation, a.status as agent_status, n.stopping,
    n.restart_requested
    or exists (select from work w where w.account_id = n.account_id and w.agent_id = n.agent_id and w.state = 'queued' and w.command is null)
    or exists (
      select from work w where w.account_id = n.account_id and w.agent_id = n.agent_id and w.command is not null
        and w.state in ('held', 'silent') and w.instance_id = n.instance_id) as has_news
  from noted n join agent a on a.account_id = n.account_id and a.agent_id = n.agent_id`,
);

/** Finds work that waits for an agent. */
export const waitingWork = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, row: { work_id: 'uuid' } },
  `
  select work_id from work where account_id = $account_id and agent_id = $agent_id and state = 'queued'
    and command is null limit 1`,
);
