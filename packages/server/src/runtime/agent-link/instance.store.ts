/** The table `agent_instance`: the running processes of an agent, and the time of their last sign of life. */
import type { AgentCommand, AgentStatus, HelloRequest } from '@headgate/contract';
import {
  type ParameterTypes,
  type Read,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { CallingAgent } from './known-agents.ts';

export interface InstanceKey {
  agent: CallingAgent;
  instanceId: string;
}

const keyTypes = { account_id: 'uuid', agent_id: 'uuid', instance_id: 'uuid' } satisfies ParameterTypes;
const createKey = ({ agent, instanceId }: InstanceKey) => ({
  account_id: agent.accountId,
  agent_id: agent.agentId,
  instance_id: instanceId,
});

/** An instance that is silent for this long is forgotten. A later sign of life records it again. */
const forgottenAfter = '10 minutes';

const forgetSilent = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', now: 'timestamptz' } },
  `
  delete from agent_instance where account_id = $account_id and agent_id = $agent_id
    and last_seen_at < $now::timestamptz - interval '${forgottenAfter}'`,
);
// Turns of projects that were deleted.
const forgetTurns = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' } },
  `
  delete from work_turn t where t.account_id = $account_id and t.agent_id = $agent_id and t.project_id is not null
    and not exists (select from project p where p.account_id = t.account_id and p.project_id = t.project_id)`,
);
const upsert = statement(
  {
    parameters: {
      ...keyTypes,
      agent_version: 'text',
      abilities: 'text[]',
      concurrency: 'integer',
      short_concurrency: 'integer?',
      now: 'timestamptz',
    },
  },
  `
  insert into agent_instance (account_id, agent_id, instance_id, agent_version, abilities, concurrency, short_concurrency, connected_at, last_seen_at)
  values ($account_id, $agent_id, $instance_id, $agent_version, $abilities, $concurrency, $short_concurrency, $now, $now)
  on conflict (account_id, agent_id, instance_id) do update set agent_version = excluded.agent_version, abilities = excluded.abilities,
    concurrency = excluded.concurrency, short_concurrency = excluded.short_concurrency, stopping = false, restart_requested = false, last_seen_at = excluded.last_seen_at, silent = false`,
);
const noteVersion = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', agent_version: 'text' } },
  'update agent set agent_version = $agent_version where account_id = $account_id and agent_id = $agent_id',
);

type Introduced = Pick<HelloRequest, 'agentVersion' | 'abilities' | 'concurrency' | 'shortConcurrency'>;

/** Records the hello of an instance. */
export function writeInstance(tx: Transaction, key: InstanceKey, said: Introduced, now: Date): void {
  const { accountId, agentId } = key.agent;
  refuseDeletedAgent(tx);
  tx.send(forgetSilent, { account_id: accountId, agent_id: agentId, now });
  tx.send(forgetTurns, { account_id: accountId, agent_id: agentId });
  tx.send(upsert, {
    ...createKey(key),
    agent_version: said.agentVersion,
    abilities: said.abilities,
    concurrency: said.concurrency,
    short_concurrency: said.shortConcurrency ?? null,
    now,
  });
  tx.send(noteVersion, { account_id: accountId, agent_id: agentId, agent_version: said.agentVersion });
}

const insertUnknown = statement(
  { parameters: { ...keyTypes, now: 'timestamptz' } },
  `
  insert into agent_instance (account_id, agent_id, instance_id, agent_version, connected_at, last_seen_at)
  values ($account_id, $agent_id, $instance_id, '', $now, $now)
  on conflict (account_id, agent_id, instance_id) do update set last_seen_at = excluded.last_seen_at, silent = false`,
);

/** Records an instance that works without a hello, or that was forgotten. */
export function writeUnknownInstance(tx: Transaction, key: InstanceKey, now: Date): void {
  refuseDeletedAgent(tx);
  tx.send(insertUnknown, { ...createKey(key), now });
}

function refuseDeletedAgent(tx: Transaction): void {
  tx.onConstraint('agent_instance_of_agent', () =>
    problem('token-invalid', { reason: 'its agent was deleted.' }),
  );
}

const noteSeen = statement(
  {
    parameters: { ...keyTypes, now: 'timestamptz' },
    row: { agent_status: typed<AgentStatus>('text'), stopping: 'boolean' },
  },
  `
  update agent_instance set last_seen_at = $now, silent = false
  where account_id = $account_id and agent_id = $agent_id and instance_id = $instance_id
  returning (select status from agent a where a.account_id = $account_id
    and a.agent_id = $agent_id) as agent_status, stopping`,
);

/** Records a sign of life. After the commit there is no row if the instance is unknown. */
export function noteSignOfLife(tx: Transaction, key: InstanceKey, now: Date) {
  return tx.collect(noteSeen, { ...createKey(key), now });
}

const setStopping = statement(
  { parameters: { ...keyTypes, now: 'timestamptz' } },
  `
  update agent_instance set stopping = true, last_seen_at = $now, silent = false where account_id = $account_id
    and agent_id = $agent_id and instance_id = $instance_id`,
);
const remove = statement(
  { parameters: keyTypes },
  'delete from agent_instance where account_id = $account_id and agent_id = $agent_id and instance_id = $instance_id',
);

export function noteStopping(tx: Transaction, key: InstanceKey, now: Date): void {
  tx.send(setStopping, { ...createKey(key), now });
}

export function removeInstance(tx: Transaction, key: InstanceKey): void {
  tx.send(remove, createKey(key));
}

const selectCommand = statement(
  {
    parameters: keyTypes,
    row: { command: typed<AgentCommand>('text') },
  },
  `
  select 'restart' as command from agent_instance
  where account_id = $account_id and agent_id = $agent_id and instance_id = $instance_id and restart_requested`,
);

/** The command for the instance itself: one row or none. */
export function collectInstanceCommand(
  tx: Transaction,
  key: InstanceKey,
): readonly { command: AgentCommand }[] {
  return tx.collect(selectCommand, createKey(key));
}

export function readInstanceCommand(read: Read, key: InstanceKey): Promise<{ command: AgentCommand }[]> {
  return read(selectCommand, createKey(key));
}
